"""Writer for Zero plans."""

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
from .render import refuse_kind, refuse_lossy
from .translation import Translation
from .zero_plan import PAUSED, RETRYING, SECONDS_BY_UNIT, SYSTEM, TYPES

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
