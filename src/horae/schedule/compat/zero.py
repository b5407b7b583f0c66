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
from ..instants import DAY, EPOCH, SECOND, to_datetime, to_instant
from ..once import Now, Once
from ..value import Moment, Schedule
from ..zones import find_zone
from .fields import Fields
from .moments import to_local_time
from .render import refuse_kind, refuse_lossy, write_verified
from .translation import Note, Translation
from .translation_notes import note
from .zero_plan import KEYS, PAUSED, RETRYING, SECONDS_BY_UNIT, SYSTEM, TYPES, Plan

_MICROSECOND: Final = timedelta(microseconds=1)
_MICROSECONDS_OF: Final = {unit: seconds * SECOND for unit, seconds in reversed(SECONDS_BY_UNIT.items())}


def write_plan(translation: Translation, *, zone: str, numbers: bool) -> dict[str, Any]:
    schedule = translation.schedule
    match schedule:
        case Now():
            plan = _make_plan("none")
        case Once(at=at):
            plan = _make_plan("time", time=_to_seconds("at", at))
        case Every():
            plan = _write_every(schedule)
        case Calendar():
            plan = _write_calendar(schedule, schedule.zone or zone)
        case _:
            raise refuse_kind(SYSTEM, translation, "now", "once", "every", "calendar")
    if not isinstance(schedule, Now | Once):
        plan["plan_repet"] = -1 if schedule.repeat is None else schedule.repeat
    if numbers:
        plan["plan_type"] = TYPES.index(plan["plan_type"])
    return {**plan, "no_keep": _is_keeping(translation), **_skip_fields(translation)}


def _make_plan(plan_type: str, value: int = 0, time: int = 0) -> dict[str, Any]:
    return {"plan_type": plan_type, "plan_value": value, "plan_repet": 1, "plan_time": time}


def _write_every(schedule: Every) -> dict[str, Any]:
    """Use the largest unit that fits, since Zero's values are small; plan_time is one interval before the first run."""
    interval = schedule.interval // _MICROSECOND
    unit = next((unit for unit, length in _MICROSECONDS_OF.items() if interval % length == 0), None)
    if unit is None:
        raise refuse_lossy(SYSTEM, "interval")
    if schedule.start is None:
        return _make_plan(unit, interval // _MICROSECONDS_OF[unit])
    time = _to_seconds("start", schedule.start) - interval // SECOND
    if time <= 0:
        raise refuse_lossy(SYSTEM, "start")
    return _make_plan(unit, interval // _MICROSECONDS_OF[unit], time)


def _write_calendar(schedule: Calendar, zone: str) -> dict[str, Any]:
    day = schedule.on[0] if len(schedule.on) == 1 else None
    if schedule.unit not in ("week", "month"):
        raise refuse_lossy(SYSTEM, "unit")
    if not isinstance(day, int):
        raise refuse_lossy(SYSTEM, "on")
    if not schedule.at:
        raise refuse_lossy(SYSTEM, "hours")
    at = schedule.at[0].hour * 3600 + schedule.at[0].minute * 60 + schedule.at[0].second
    if schedule.unit == "week":
        return _make_plan("week", (day + 1) % 7, _some_instant(at, zone))
    return _make_plan("month", day if day > 0 else day + 1, _some_instant(at, zone))


def _some_instant(second_of_day: int, zone: str) -> int:
    """An instant whose wall time has this second of the day; any day will do, so the first one that has it."""
    instants: list[int] = []
    day = 2
    while not instants:
        instants = find_zone(zone).instants(day * DAY + second_of_day)
        day += 1
    return instants[0]


def _to_seconds(key: str, moment: Moment) -> int:
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise refuse_lossy(SYSTEM, key)
    return to_instant(moment) // SECOND


def _is_keeping(translation: Translation) -> bool:
    """Whether missed times are caught up; without a policy, only a one-time schedule whose window is open."""
    missed = translation.policies.get("missed")
    if missed is None:
        return isinstance(translation.schedule, Once) and translation.schedule.end is None
    return isinstance(missed, dict) and missed.get("policy") == "all"


def _skip_fields(translation: Translation) -> dict[str, int]:
    state = translation.state
    fields = {"skip_set": 0}
    if "paused" in translation.policies:
        fields["skip_set"] = PAUSED
    elif "retrying" in state:
        fields["skip_set"] = RETRYING
    elif "skip_next" in translation.policies:
        skip_next = translation.policies["skip_next"]
        fields["skip_set"] = skip_next + state.get("skipped", 0) if isinstance(skip_next, int) else 0
    if "counted" in state:
        fields["real_repet"] = state["counted"]
    if "retrying" in state or "skipped" in state:
        fields["skip_num"] = state.get("retrying", state.get("skipped", 0))
    return fields


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
