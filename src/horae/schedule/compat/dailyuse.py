"""DailyUse dialect: a `scheduledTime` and a `recurrence` NONE, DAILY, WEEKLY, MONTHLY, YEARLY or CUSTOM (cron)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from ..calendar import MAX_PERIODS, Calendar
from ..calendar_days import Unit
from ..canonical import format_moment
from ..cron import Cron
from ..once import Once
from ..refusals import refuse
from ..value import MAX_REPEATS, Moment, Schedule
from ..zones import find_zone
from .fields import Fields, format_value, parse_integer, require_in_range
from .moments import first_run_notes, format_local, is_second_pass, read_once, to_local_time
from .render import format_time, refuse_kind, refuse_lossy, write_verified
from .translation import Note, Translation
from .translation_notes import note

SYSTEM: Final = "DailyUse"
KINDS_BY_UNIT: Final[dict[Unit, str]] = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_UNIT_OF_KIND: Final = {kind: unit for unit, kind in KINDS_BY_UNIT.items()}
_KINDS: Final = ("NONE", *KINDS_BY_UNIT.values(), "CUSTOM")
_RECURRENCE_KEYS: Final = (
    "type",
    "interval",
    "daysOfWeek",
    "dayOfMonth",
    "endDate",
    "maxOccurrences",
    "cronExpression",
)
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
        fields = Fields.of(SYSTEM, value, _RECURRENCE_KEYS)
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


_KEYS: Final = ("scheduledTime", "recurrence")


def read(mapping: Mapping[str, Any], *, zone: str) -> Translation:
    """Read a DailyUse schedule; `zone` applies to its time of day and dates (in DailyUse, the server's zone)."""
    fields = Fields.of(SYSTEM, mapping, _KEYS)
    find_zone(zone)
    at = fields.required_time("scheduledTime")
    recurrence = Recurrence.of(fields.get("recurrence"))
    schedule, notes = _make_schedule(at, recurrence, zone)
    translation = Translation(schedule, _policies(recurrence), (*notes, *recurrence.notes(zone)))
    return Fields(SYSTEM, recurrence.with_recurrence(fields.values)).remember(translation, zone)


def write(translation: Translation, *, zone: str) -> dict[str, Any]:
    """Write a DailyUse schedule; refuses what it cannot express: intervals, several times of day, days from a month's end."""
    return write_verified(SYSTEM, translation, zone, _write_schedule, partial(read, zone=zone))


def _make_schedule(at: datetime, recurrence: Recurrence, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    match recurrence.kind:
        case "NONE":
            return read_once(at, zone)
        case "CUSTOM":
            return _make_cron(at, recurrence, zone)
        case _:
            return _make_calendar(at, recurrence, zone)


def _make_cron(at: datetime, recurrence: Recurrence, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    schedule = Cron(recurrence.expression, zone=zone, start=at, end=recurrence.end, repeat=recurrence.repeat)
    return schedule, first_run_notes(schedule, zone)


def _make_calendar(at: datetime, recurrence: Recurrence, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    start = at.replace(microsecond=0)
    local = to_local_time(start, zone)
    is_second = is_second_pass(start, zone)
    schedule = Calendar(
        unit=recurrence.unit,
        every=recurrence.every,
        on=recurrence.on(local),
        months=(local.month,) if recurrence.unit == "year" else (),
        at=(local.time(),),
        zone=zone,
        start=start,
        end=recurrence.end,
        repeat=recurrence.repeat,
        fold="last" if is_second else None,
    )
    notes = [note("compat_fraction_dropped", time=local.time())] if at.microsecond else []
    if is_second:
        notes.append(note("compat_second_pass", local=format_local(start, zone), zone=zone))
    return schedule, (*notes, *_day_notes(schedule, local), *first_run_notes(schedule, zone))


def _day_notes(schedule: Calendar, local: datetime) -> tuple[Note, ...]:
    day = schedule.on[0] if schedule.on else 0
    if schedule.unit == "month" and isinstance(day, int) and day > 28:
        return (note("compat_month_clamped", day=day),)
    if schedule.unit == "year" and (local.month, local.day) == (2, 29):
        return (note("compat_leap_day"),)
    if schedule.unit == "week" and schedule.every > 1:
        return (note("compat_week_monday", every=schedule.every, date=local.date()),)
    return ()


def _policies(recurrence: Recurrence) -> dict[str, Any]:
    """DailyUse gives up after three failures in a row; a one-time task is therefore retried three times."""
    if recurrence.kind != "NONE":
        return {"give_up_after": 3}
    return {"retry": {"attempts": 3, "backoff": "PT1M", "factor": 1, "max": "PT1M"}, "give_up_after": 1}


def _write_schedule(translation: Translation) -> dict[str, Any]:
    schedule = translation.schedule
    if isinstance(schedule, Once):
        return {"scheduledTime": format_moment(schedule.at), "recurrence": {"type": "NONE", "interval": 1}}
    if not isinstance(schedule, Calendar | Cron):
        raise refuse_kind(SYSTEM, translation, "once", "cron", "calendar")
    if schedule.start is None:
        raise refuse("compat_start_missing", system=SYSTEM)
    recurrence: dict[str, Any] = {"type": "CUSTOM", "interval": 1}
    if isinstance(schedule, Cron):
        recurrence["cronExpression"] = schedule.expression
    else:
        recurrence = {"type": KINDS_BY_UNIT[schedule.unit], "interval": schedule.every, **_write_days(schedule)}
    if schedule.end is not None:
        recurrence["endDate"] = format_moment(schedule.end)
    if schedule.repeat is not None:
        recurrence["maxOccurrences"] = schedule.repeat
    return {"scheduledTime": format_time(SYSTEM, "start", schedule.start), "recurrence": recurrence}


def _write_days(schedule: Calendar) -> dict[str, Any]:
    numbers = [each for each in schedule.on if isinstance(each, int)]
    if schedule.unit == "week":
        return {"daysOfWeek": sorted((day + 1) % 7 for day in numbers)}
    if schedule.unit != "month":
        return {}
    if len(numbers) != 1 or len(schedule.on) != 1 or numbers[0] < 1:
        raise refuse_lossy(SYSTEM, "on")
    return {"dayOfMonth": numbers[0]}
