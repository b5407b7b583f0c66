"""Zero: `plan_type` none, time, second, minute, hour, day, week or month, with value, repeats, time and skips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any, Final

from ..calendar import Calendar
from ..canonical import show_moment
from ..every import Every
from ..instants import EPOCH, SECOND, to_datetime, to_instant
from ..now import Now
from ..once import Once
from ..value import Schedule
from ..zones import find_zone
from .fields import Fields
from .moments import local_time
from .notes import note
from .render import written
from .translation import Note, Translation
from .zero_plan import KEYS, RETRYING, SECONDS_OF, SYSTEM, Plan
from .zero_spelling import spell

_SECOND: Final = timedelta(seconds=1)


def read(mapping: Mapping[str, Any], *, now: datetime, zone: str = "UTC") -> Translation:
    """`now` stands in for a plan_time that is not set, and tells which planned times have passed already."""
    fields = Fields.of(SYSTEM, mapping, KEYS)
    find_zone(zone)
    now = to_datetime(to_instant(now))
    plan = Plan.of(fields)
    schedule, told = _schedule(plan, now, zone)
    plan, passed = _account(plan, schedule, now)
    understood = Translation(schedule, plan.policies(), (*told, *passed, *plan.notes()), plan.state())
    return fields.remember(understood, zone)


def write(translation: Translation, *, zone: str = "UTC", numbers: bool = False) -> dict[str, Any]:
    """Refused where Zero has no words for it. `numbers` spells the plan type as its programs do."""
    read_again = partial(read, now=_reading_time(translation.schedule), zone=zone)
    return written(SYSTEM, translation, zone, partial(spell, zone=zone, numbers=numbers), read_again)


def _reading_time(schedule: Schedule) -> datetime:
    """Plans are proved at a time when nothing had passed; only a time that must not run any more has to be past."""
    if isinstance(schedule, Once) and schedule.end is not None and schedule.at.tzinfo is not None:
        return schedule.at + _SECOND
    return EPOCH


def _schedule(plan: Plan, now: datetime, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    match plan.type:
        case "none":
            return Now(), ()
        case "time":
            return _time(plan, now)
        case "week" | "month":
            return _calendar(plan, now, zone)
        case _:
            return _every(plan), ()


def _time(plan: Plan, now: datetime) -> tuple[Schedule, tuple[Note, ...]]:
    """A time that has passed runs with no_keep; without, a window that closed then says that it never will."""
    if plan.time is None:
        return Now(), (note("compat_time_is_now"),)
    at = to_datetime(plan.time * SECOND)
    if plan.keep or at >= now:
        return Once(at), ()
    return Once(at, end=at), (note("compat_time_passed", instant=show_moment(at)),)


def _every(plan: Plan) -> Every:
    """The first run comes a delay after plan_time, or after the receipt: which is how `every` begins without a start."""
    interval = plan.value * SECONDS_OF[plan.type] * _SECOND
    start = None if plan.time is None else to_datetime(plan.time * SECOND) + interval
    return Every(interval, start=start, **_repeats(plan))


def _calendar(plan: Plan, now: datetime, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """Only the time of day of plan_time counts, on the clock of the zone."""
    moment = now if plan.time is None else to_datetime(plan.time * SECOND)
    at = local_time(moment, zone).time().replace(microsecond=0)
    notes = () if plan.time is not None else (note("compat_time_of_day_now", time=at, zone=zone),)
    if plan.type == "week":
        return Calendar(unit="week", on=((plan.value - 1) % 7,), at=(at,), zone=zone, **_repeats(plan)), notes
    schedule, more = _month(plan, at, zone)
    return schedule, (*notes, *more)


def _month(plan: Plan, at: time, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """0 is the last day, which is -1 here. The day 31 before the last is always clamped to the 1st, as is that 30 before."""
    day = plan.value if plan.value > 0 else max(plan.value - 1, -31)
    schedule = Calendar(unit="month", on=(day,), at=(at,), zone=zone, **_repeats(plan))
    return schedule, (note("compat_always_first", value=plan.value),) if day == -31 else ()


def _repeats(plan: Plan) -> dict[str, Any]:
    """Skipped ones count there."""
    return {} if plan.repeat is None else {"repeat": plan.repeat, "counting": "planned"}


def _account(plan: Plan, schedule: Schedule, now: datetime) -> tuple[Plan, tuple[Note, ...]]:
    """A new plan may begin in the past: what has passed is skipped and counted, or with no_keep made up for."""
    start = schedule.start
    if not isinstance(schedule, Every) or not isinstance(start, datetime) or plan.counted is not None or start >= now:
        return plan, ()
    passed = -((start - now) // schedule.interval)
    passed = passed if plan.repeat is None else min(passed, plan.repeat)
    if plan.keep:
        return plan, (note("compat_past_kept", count=passed, first=show_moment(start)),)
    skip_num = plan.skip_num if plan.skip_set == RETRYING else (plan.skip_num or 0) + passed
    return replace(plan, counted=passed, skip_num=skip_num), (note("compat_past_skipped", count=passed),)
