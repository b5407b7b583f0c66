"""Words, dates, times and durations of descriptions, shared by both languages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, timezone
from itertools import pairwise
from typing import Final

from ..cron_fields import CronFields
from ..instants import SECOND, to_instant
from ..value import Moment, Schedule, is_wall
from ..zones import find_zone

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def join_with_and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


CHINESE_WEEKDAYS: Final = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")


_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


def describe_clock(at: time) -> str:
    return at.isoformat("seconds" if at.second else "minutes")


def describe_moment(value: Moment, zone: str | None) -> str:
    """Format as `2026-03-01`, `2026-03-01 15:00`, or with the zone's offset for an instant."""
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        return _format_wall_time(value)
    offset = _zone_offset(value, zone)
    if offset.total_seconds() % 60 or zone is None:
        offset = timedelta(0)  # local mean time had seconds; an offset is written in minutes
    shown = value.astimezone(timezone(offset)).replace(tzinfo=None)
    return f"{_format_wall_time(shown)} {_format_offset(offset)}"


def _zone_offset(value: datetime, zone: str | None) -> timedelta:
    if zone is None:
        return timedelta(0)
    return timedelta(seconds=find_zone(zone).offset(to_instant(value.astimezone(UTC)) // SECOND))


def _format_offset(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _format_wall_time(value: datetime) -> str:
    if value.microsecond:
        return value.isoformat(" ", "microseconds").rstrip("0")
    return value.isoformat(" ", "seconds" if value.second else "minutes")


MAX_LISTED: Final = 6


def is_listed(fields: CronFields) -> bool:
    """Whether the times are few enough to be listed one by one."""
    return len(fields.second.values) * len(fields.minute.values) * len(fields.hour.values) <= MAX_LISTED


def even_step(values: list[int]) -> int | None:
    """The step of a long, evenly spaced list, which is then written with its beginning and end; else None."""
    steps = {later - earlier for earlier, later in pairwise(values)}
    return min(steps) if len(values) >= 5 and len(steps) == 1 and min(steps) > 1 else None


def whole_step(values: list[int], size: int) -> int | None:
    """The step if the values divide a whole minute or hour evenly (*/7 does not); else None."""
    step = size // len(values)
    return step if len(values) > 1 and size % len(values) == 0 and values == list(range(0, size, step)) else None


def wall_start(schedule: Schedule) -> datetime | None:
    """The wall time from which a recurrence rule takes its missing parts; None without such a start."""
    start = schedule.start
    if start is None or not is_wall(start):
        return None
    return start if isinstance(start, datetime) else datetime.combine(start, time())


def duration_parts(length: timedelta) -> list[tuple[str, int]]:
    """(amount, unit) pairs: hours, minutes and seconds, or milliseconds alone; a day would read as a calendar day."""
    if length < _SECOND and not length % _MILLISECOND:
        return [(str(length // _MILLISECOND), 3)]
    hours, rest = divmod(length.days * 86_400 + length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    if seconds and not hours and minutes == 1 and not fraction:
        minutes, seconds = 0, seconds + 60  # "90 seconds" reads better than "1 minute 30 seconds"
    parts = [(str(hours), 0), (str(minutes), 1), (f"{seconds}{fraction}", 2)]
    return [(amount, unit) for amount, unit in parts if amount != "0"]


def describe_zone(zone: str) -> str:
    """The zone's name; one that could be an abbreviation is marked with @ as an exact name."""
    return zone if "/" in zone or zone == "UTC" else f"@{zone}"


def group_ranges(values: list[int]) -> list[tuple[int, int]]:
    """Group consecutive numbers into ranges: 1, 2, 3, 7 becomes (1, 3), (7, 7)."""
    ranges: list[tuple[int, int]] = []
    for value in values:
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], value)
        else:
            ranges.append((value, value))
    return ranges
