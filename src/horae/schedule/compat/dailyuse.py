"""DailyUse dialect: a `scheduledTime` and a `recurrence` NONE, DAILY, WEEKLY, MONTHLY, YEARLY or CUSTOM (cron)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from ..calendar import Calendar
from ..canonical import format_moment
from ..cron import Cron
from ..once import Once
from ..refusals import refuse
from ..value import Schedule
from ..zones import find_zone
from .dailyuse_recurrence import KINDS_BY_UNIT, SYSTEM, Recurrence
from .fields import Fields
from .moments import first_run_notes, format_local, is_second_pass, read_once, to_local_time
from .render import format_time, refuse_kind, refuse_lossy, write_verified
from .translation import Note, Translation
from .translation_notes import note

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
