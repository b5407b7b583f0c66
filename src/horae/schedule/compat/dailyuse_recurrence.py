"""The `recurrence` object of DailyUse, checked field by field before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..calendar import MOST_PERIODS
from ..calendar_days import Unit
from ..refusals import refuse
from ..value import MOST_REPEATS, Moment
from .fields import Fields, shown, whole_number, within
from .notes import note
from .translation import Note

SYSTEM: Final = "DailyUse"
KIND_OF_UNIT: Final[dict[Unit, str]] = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_UNIT_OF_KIND: Final = {kind: unit for unit, kind in KIND_OF_UNIT.items()}
_KINDS: Final = ("NONE", *KIND_OF_UNIT.values(), "CUSTOM")
_KEYS: Final = ("type", "interval", "daysOfWeek", "dayOfMonth", "endDate", "maxOccurrences", "cronExpression")
_LIMITS: Final = ("endDate", "maxOccurrences")
_USED: Final = {
    "NONE": (),
    "DAILY": ("interval", *_LIMITS),
    "WEEKLY": ("interval", "daysOfWeek", *_LIMITS),
    "MONTHLY": ("interval", "dayOfMonth", *_LIMITS),
    "YEARLY": ("interval", *_LIMITS),
    "CUSTOM": ("cronExpression", *_LIMITS),
}


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Every field is checked, also where the type has no use for it; only the used ones have a say."""

    fields: Fields | None
    kind: str
    every: int = 1
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    end: Moment | None = None
    repeat: int | None = None
    expression: str = ""
    passed_over: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: object) -> Recurrence:
        """Without a recurrence it happens once."""
        if given is None:
            return cls(None, "NONE")
        fields = Fields.of(SYSTEM, given, _KEYS)
        kind = fields.choice("type", _KINDS)
        expression = fields.needed_text("cronExpression") if kind == "CUSTOM" else fields.text("cronExpression")
        return cls(
            fields,
            kind,
            fields.whole("interval", 1, MOST_PERIODS) or 1,
            _weekdays(fields.get("daysOfWeek")),
            fields.whole("dayOfMonth", 1, 31),
            fields.moment("endDate"),
            fields.whole("maxOccurrences", 1, MOST_REPEATS),
            expression or "",
            _passed_over(given, kind),
        )

    @property
    def unit(self) -> Unit:
        return _UNIT_OF_KIND[self.kind]

    def on(self, local: datetime) -> tuple[int, ...]:
        """The days in the period: those given, else the one that the first time falls on."""
        match self.kind:
            case "WEEKLY":
                return self.weekdays or (local.weekday(),)
            case "MONTHLY":
                return (self.day or local.day,)
            case "YEARLY":
                return (local.day,)
            case _:
                return ()

    def notes(self, zone: str) -> tuple[Note, ...]:
        told = []
        if self.passed_over:
            told.append(note("compat_fields_unused", kind=self.kind, keys=", ".join(self.passed_over)))
        if self.kind != "NONE" and self.end is not None and not isinstance(self.end, datetime):
            told.append(note("compat_end_whole_day", day=self.end, zone=zone))
        return tuple(told)

    def spelled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(values) if self.fields is None else {**values, "recurrence": self.fields.values}


def _weekdays(given: object) -> tuple[int, ...]:
    """JavaScript counts from Sunday = 0, Horae from Monday = 0."""
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or len(given) > 7:
        raise refuse("compat_bad_weekdays", key="daysOfWeek", value=shown(given))
    return tuple((within("daysOfWeek", each, 0, 6) - 1) % 7 for each in given)


def _passed_over(given: object, kind: str) -> tuple[str, ...]:
    """What was said in vain. An interval of 1 says nothing anywhere, and every DailyUse client sends one."""
    if not isinstance(given, Mapping):
        return ()
    said = (key for key in given if isinstance(key, str) and given[key] is not None)
    unused = (key for key in said if key not in ("type", *_USED[kind]))
    told = (key for key in unused if key != "interval" or whole_number(given[key]) != 1)
    return tuple(key[:40] if key.isprintable() else "…" for key in told)[:20]
