"""Resolves spoken times of day to a 24-hour clock, and refuses ambiguous ones."""

from __future__ import annotations

from datetime import time
from typing import Final, Literal

from ..refusals import refuse

DayPart = Literal["morning", "noon", "afternoon", "evening", "night", "small_hours"]

# The 12-hour clock hours that each part of the day can mean, and their values on a 24-hour clock.
_HOURS: Final[dict[DayPart, dict[int, int]]] = {
    "morning": {hour: hour for hour in range(1, 12)},
    "noon": {11: 11, 12: 12, 1: 13, 2: 14},
    "afternoon": {12: 12, **{hour: hour + 12 for hour in range(1, 8)}},
    "evening": {hour: hour + 12 for hour in range(4, 12)},
    "night": {**{hour: hour + 12 for hour in range(7, 12)}, **{hour: hour for hour in range(1, 5)}},
    "small_hours": {hour: hour for hour in range(6)},
}
# 24-hour clock hours that may be combined with a part of the day, as in 下午15点.
_DAY_HOURS: Final[dict[DayPart, range]] = {
    "morning": range(4, 12),
    "noon": range(11, 15),
    "afternoon": range(12, 20),
    "evening": range(16, 24),
    "night": range(19, 24),
    "small_hours": range(6),
}


def fits_day_part(part: DayPart, hour: int) -> bool:
    return hour in _HOURS[part] or hour in _DAY_HOURS[part]


def resolve_day_part_hour(part: DayPart, hour: int, minute: int, second: int, place: int) -> time:
    """Resolve 早上9点 or 9 in the evening; 12 at night is refused, since it may begin or end the day."""
    if hour == 12 and part in ("evening", "night", "small_hours"):
        raise refuse("midnight_twice", place)
    if hour >= 13 and hour in _DAY_HOURS[part]:
        return time(hour, minute, second)
    resolved = _HOURS[part].get(hour)
    if resolved is None:
        raise refuse("hour_does_not_fit", place, hour=hour)
    return time(resolved, minute, second)


def resolve_bare_hour(hour: int, place: int) -> time:
    """Resolve an hour without am or pm: `at 9` is refused as ambiguous, `at 17` is clear."""
    if 1 <= hour <= 12:
        raise refuse(
            "ambiguous_hour", place, hour=hour, morning=f"{hour % 12:02}:00", evening=f"{hour % 12 + 12:02}:00"
        )
    return make_time(hour, 0, 0, place)


def resolve_twelve_hour(hour: int, minute: int, second: int, *, afternoon: bool, position: int) -> time:
    if not 1 <= hour <= 12:
        raise refuse("hour_does_not_fit", position, hour=hour)
    return make_time(hour % 12 + 12 * afternoon, minute, second, position)


def make_time(hour: int, minute: int, second: int, place: int, microsecond: int = 0) -> time:
    if hour == 24 and minute == 0 and second == 0:
        raise refuse("hour_24", place)
    if hour > 23 or minute > 59 or second > 59:
        raise refuse("no_such_time", place, value=f"{hour:02}:{minute:02}")
    return time(hour, minute, second, microsecond)
