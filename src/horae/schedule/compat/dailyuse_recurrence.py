"""Parser for the `recurrence` object of DailyUse: every field is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..calendar import MAX_PERIODS
from ..calendar_days import Unit
from ..refusals import refuse
from ..value import MAX_REPEATS, Moment
from .fields import Fields, format_value, parse_integer, require_in_range
from .translation import Note
from .translation_notes import note

SYSTEM: Final = "DailyUse"
KINDS_BY_UNIT: Final[dict[Unit, str]] = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_UNIT_OF_KIND: Final = {kind: unit for unit, kind in KINDS_BY_UNIT.items()}
_KINDS: Final = ("NONE", *KINDS_BY_UNIT.values(), "CUSTOM")
_KEYS: Final = ("type", "interval", "daysOfWeek", "dayOfMonth", "endDate", "maxOccurrences", "cronExpression")
_END_FIELDS: Final = ("endDate", "maxOccurrences")
_USED_FIELDS: Final = {
    "NONE": (),
    "DAILY": ("interval", *_END_FIELDS),
    "WEEKLY": ("interval", "daysOfWeek", *_END_FIELDS),
    "MONTHLY": ("interval", "dayOfMonth", *_END_FIELDS),
    "YEARLY": ("interval", *_END_FIELDS),
    "CUSTOM": ("cronExpression", *_END_FIELDS),
}


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A checked recurrence; fields that its type does not use are checked too, and ignored."""

    fields: Fields | None
    kind: str
    every: int = 1
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    end: Moment | None = None
    repeat: int | None = None
    expression: str = ""
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: object) -> Recurrence:
        """Parse the object; without one the task runs once."""
        if value is None:
            return cls(None, "NONE")
        fields = Fields.of(SYSTEM, value, _KEYS)
        kind = fields.choice("type", _KINDS)
        expression = fields.required_text("cronExpression") if kind == "CUSTOM" else fields.text("cronExpression")
        return cls(
            fields,
            kind,
            fields.read_integer("interval", 1, MAX_PERIODS) or 1,
            _read_weekdays(fields.get("daysOfWeek")),
            fields.read_integer("dayOfMonth", 1, 31),
            fields.moment("endDate"),
            fields.read_integer("maxOccurrences", 1, MAX_REPEATS),
            expression or "",
            _ignored_fields(value, kind),
        )

    @property
    def unit(self) -> Unit:
        return _UNIT_OF_KIND[self.kind]

    def on(self, local: datetime) -> tuple[int, ...]:
        """The days in the period: those given, else the day of the first time."""
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
        notes = []
        if self.ignored:
            notes.append(note("compat_fields_unused", kind=self.kind, keys=", ".join(self.ignored)))
        if self.kind != "NONE" and self.end is not None and not isinstance(self.end, datetime):
            notes.append(note("compat_end_whole_day", day=self.end, zone=zone))
        return tuple(notes)

    def with_recurrence(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(values) if self.fields is None else {**values, "recurrence": self.fields.values}


def _read_weekdays(value: object) -> tuple[int, ...]:
    """Convert JavaScript weekdays (Sunday = 0) to Horae's (Monday = 0)."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > 7:
        raise refuse("compat_bad_weekdays", key="daysOfWeek", value=format_value(value))
    return tuple((require_in_range("daysOfWeek", each, 0, 6) - 1) % 7 for each in value)


def _ignored_fields(value: object, kind: str) -> tuple[str, ...]:
    """The given fields that the type ignores; an interval of 1 is not reported, since every DailyUse client sends one."""
    if not isinstance(value, Mapping):
        return ()
    present = (key for key in value if isinstance(key, str) and value[key] is not None)
    unused = (key for key in present if key not in ("type", *_USED_FIELDS[kind]))
    reported = (key for key in unused if key != "interval" or parse_integer(value[key]) != 1)
    return tuple(key[:40] if key.isprintable() else "…" for key in reported)[:20]
