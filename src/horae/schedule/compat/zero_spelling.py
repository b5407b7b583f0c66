"""Spells a translation as a Zero plan."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from ..calendar import Calendar
from ..every import Every
from ..instants import DAY, SECOND, to_instant
from ..now import Now
from ..once import Once
from ..value import Moment
from ..zones import find_zone
from .render import lost, unknown_kind
from .translation import Translation
from .zero_plan import PAUSED, RETRYING, SECONDS_OF, SYSTEM, TYPES

_MICROSECOND: Final = timedelta(microseconds=1)
_MICROSECONDS_OF: Final = {unit: seconds * SECOND for unit, seconds in reversed(SECONDS_OF.items())}


def spell(translation: Translation, *, zone: str, numbers: bool) -> dict[str, Any]:
    schedule = translation.schedule
    match schedule:
        case Now():
            plan = _plan("none")
        case Once(at=at):
            plan = _plan("time", time=_seconds("at", at))
        case Every():
            plan = _every(schedule)
        case Calendar():
            plan = _calendar(schedule, schedule.zone or zone)
        case _:
            raise unknown_kind(SYSTEM, translation, "now", "once", "every", "calendar")
    if not isinstance(schedule, Now | Once):
        plan["plan_repet"] = -1 if schedule.repeat is None else schedule.repeat
    if numbers:
        plan["plan_type"] = TYPES.index(plan["plan_type"])
    return {**plan, "no_keep": _keeps(translation), **_skips(translation)}


def _plan(plan_type: str, value: int = 0, time: int = 0) -> dict[str, Any]:
    return {"plan_type": plan_type, "plan_value": value, "plan_repet": 1, "plan_time": time}


def _every(schedule: Every) -> dict[str, Any]:
    """In the largest unit that fits, since values are small there; plan_time is a delay before the first run."""
    interval = schedule.interval // _MICROSECOND
    unit = next((unit for unit, length in _MICROSECONDS_OF.items() if interval % length == 0), None)
    if unit is None:
        raise lost(SYSTEM, "interval")
    if schedule.start is None:
        return _plan(unit, interval // _MICROSECONDS_OF[unit])
    time = _seconds("start", schedule.start) - interval // SECOND
    if time <= 0:
        raise lost(SYSTEM, "start")
    return _plan(unit, interval // _MICROSECONDS_OF[unit], time)


def _calendar(schedule: Calendar, zone: str) -> dict[str, Any]:
    day = schedule.on[0] if len(schedule.on) == 1 else None
    if schedule.unit not in ("week", "month"):
        raise lost(SYSTEM, "unit")
    if not isinstance(day, int):
        raise lost(SYSTEM, "on")
    if not schedule.at:
        raise lost(SYSTEM, "hours")
    at = schedule.at[0].hour * 3600 + schedule.at[0].minute * 60 + schedule.at[0].second
    if schedule.unit == "week":
        return _plan("week", (day + 1) % 7, _some_instant(at, zone))
    return _plan("month", day if day > 0 else day + 1, _some_instant(at, zone))


def _some_instant(second_of_day: int, zone: str) -> int:
    """Any day will do, since only the time of day counts: the first one whose clock shows that time."""
    found: list[int] = []
    day = 2
    while not found:
        found = find_zone(zone).instants(day * DAY + second_of_day)
        day += 1
    return found[0]


def _seconds(key: str, moment: Moment) -> int:
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise lost(SYSTEM, key)
    return to_instant(moment) // SECOND


def _keeps(translation: Translation) -> bool:
    """Where nothing is said: a time that has passed is run here, unless its window closed; all others are skipped."""
    missed = translation.policies.get("missed")
    if missed is None:
        return isinstance(translation.schedule, Once) and translation.schedule.end is None
    return isinstance(missed, dict) and missed.get("policy") == "all"


def _skips(translation: Translation) -> dict[str, int]:
    state = translation.state
    found = {"skip_set": 0}
    if "paused" in translation.policies:
        found["skip_set"] = PAUSED
    elif "retrying" in state:
        found["skip_set"] = RETRYING
    elif "skip_next" in translation.policies:
        skip_next = translation.policies["skip_next"]
        found["skip_set"] = skip_next + state.get("skipped", 0) if isinstance(skip_next, int) else 0
    if "counted" in state:
        found["real_repet"] = state["counted"]
    if "retrying" in state or "skipped" in state:
        found["skip_num"] = state.get("retrying", state.get("skipped", 0))
    return found
