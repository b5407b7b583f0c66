"""Zero dialect: `plan_type` none, time, second, minute, hour, day, week or month, with value, repeats, time and skips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any, Final

from ..calendar import Calendar
from ..canonical import format_moment
from ..every import Every
from ..instants import EPOCH, SECOND, to_datetime, to_instant
from ..now import Now
from ..once import Once
from ..value import Schedule
from ..zones import find_zone
from .fields import Fields
from .moments import to_local_time
from .render import write_verified
from .translation import Note, Translation
from .translation_notes import note
from .zero_plan import KEYS, RETRYING, SECONDS_BY_UNIT, SYSTEM, Plan
from .zero_spelling import write_plan

_SECOND: Final = timedelta(seconds=1)


def read(mapping: Mapping[str, Any], *, now: datetime, zone: str = "UTC") -> Translation:
    """Read a plan; `now` replaces a plan_time that is not set, and decides which planned times have passed."""
    fields = Fields.of(SYSTEM, mapping, KEYS)
    find_zone(zone)
    now = to_datetime(to_instant(now))
    plan = Plan.of(fields)
    schedule, schedule_notes = _make_schedule(plan, now, zone)
    plan, past_notes = _count_past(plan, schedule, now)
    translation = Translation(schedule, plan.policies(), (*schedule_notes, *past_notes, *plan.notes()), plan.state())
    return fields.remember(translation, zone)


def write(translation: Translation, *, zone: str = "UTC", numbers: bool = False) -> dict[str, Any]:
    """Write a plan; refuses what Zero cannot express. `numbers` writes the plan type as a number, as Zero's programs do."""
    read_again = partial(read, now=_verification_time(translation.schedule), zone=zone)
    return write_verified(SYSTEM, translation, zone, partial(write_plan, zone=zone, numbers=numbers), read_again)


def _verification_time(schedule: Schedule) -> datetime:
    """The time at which a written plan is verified: before everything, except for a time that must not run any more."""
    if isinstance(schedule, Once) and schedule.end is not None and schedule.at.tzinfo is not None:
        return schedule.at + _SECOND
    return EPOCH


def _make_schedule(plan: Plan, now: datetime, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    match plan.type:
        case "none":
            return Now(), ()
        case "time":
            return _make_time(plan, now)
        case "week" | "month":
            return _make_calendar(plan, now, zone)
        case _:
            return _make_every(plan), ()


def _make_time(plan: Plan, now: datetime) -> tuple[Schedule, tuple[Note, ...]]:
    """A past time runs only with no_keep; without it, a window that has closed marks it as never due."""
    if plan.time is None:
        return Now(), (note("compat_time_is_now"),)
    at = to_datetime(plan.time * SECOND)
    if plan.keep or at >= now:
        return Once(at), ()
    return Once(at, end=at), (note("compat_time_passed", instant=format_moment(at)),)


def _make_every(plan: Plan) -> Every:
    """The first run comes one interval after plan_time or receipt, which is how `every` begins without a start."""
    interval = plan.value * SECONDS_BY_UNIT[plan.type] * _SECOND
    start = None if plan.time is None else to_datetime(plan.time * SECOND) + interval
    return Every(interval, start=start, **_repeat_fields(plan))


def _make_calendar(plan: Plan, now: datetime, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """Only the time of day of plan_time is used, in the zone."""
    moment = now if plan.time is None else to_datetime(plan.time * SECOND)
    at = to_local_time(moment, zone).time().replace(microsecond=0)
    notes = () if plan.time is not None else (note("compat_time_of_day_now", time=at, zone=zone),)
    if plan.type == "week":
        return Calendar(unit="week", on=((plan.value - 1) % 7,), at=(at,), zone=zone, **_repeat_fields(plan)), notes
    schedule, month_notes = _make_month(plan, at, zone)
    return schedule, (*notes, *month_notes)


def _make_month(plan: Plan, at: time, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """Zero's day 0 is the last day, -1 in Horae; its days -30 and -31 are always clamped to the 1st."""
    day = plan.value if plan.value > 0 else max(plan.value - 1, -31)
    schedule = Calendar(unit="month", on=(day,), at=(at,), zone=zone, **_repeat_fields(plan))
    return schedule, (note("compat_always_first", value=plan.value),) if day == -31 else ()


def _repeat_fields(plan: Plan) -> dict[str, Any]:
    """Zero counts skipped occurrences too."""
    return {} if plan.repeat is None else {"repeat": plan.repeat, "counting": "planned"}


def _count_past(plan: Plan, schedule: Schedule, now: datetime) -> tuple[Plan, tuple[Note, ...]]:
    """Count planned times before `now` as skipped, or note with no_keep that they will be caught up."""
    start = schedule.start
    if not isinstance(schedule, Every) or not isinstance(start, datetime) or plan.counted is not None or start >= now:
        return plan, ()
    passed = -((start - now) // schedule.interval)
    passed = passed if plan.repeat is None else min(passed, plan.repeat)
    if plan.keep:
        return plan, (note("compat_past_kept", count=passed, first=format_moment(start)),)
    skip_num = plan.skip_num if plan.skip_set == RETRYING else (plan.skip_num or 0) + passed
    return replace(plan, counted=passed, skip_num=skip_num), (note("compat_past_skipped", count=passed),)
