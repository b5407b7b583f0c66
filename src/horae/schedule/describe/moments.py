"""Dates, times and instants as both languages write them."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

from ..instants import SECOND, to_instant
from ..value import Moment
from ..zones import find_zone


def clock(at: time) -> str:
    return at.isoformat("seconds" if at.second else "minutes")


def moment(value: Moment, zone: str | None) -> str:
    """`2026-03-01`, `2026-03-01 15:00`, or with the zone's offset for an instant."""
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        return _reading(value)
    offset = _offset(value, zone)
    if offset.total_seconds() % 60 or zone is None:
        offset = timedelta(0)  # local mean time had seconds; an offset is written in minutes
    shown = value.astimezone(timezone(offset)).replace(tzinfo=None)
    return f"{_reading(shown)} {_signed(offset)}"


def _offset(value: datetime, zone: str | None) -> timedelta:
    if zone is None:
        return timedelta(0)
    return timedelta(seconds=find_zone(zone).offset(to_instant(value.astimezone(UTC)) // SECOND))


def _signed(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _reading(value: datetime) -> str:
    if value.microsecond:
        return value.isoformat(" ", "microseconds").rstrip("0")
    return value.isoformat(" ", "seconds" if value.second else "minutes")


def runs(values: list[int]) -> list[tuple[int, int]]:
    """Neighbours gathered: 1, 2, 3, 7 becomes (1, 3), (7, 7)."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and value == found[-1][1] + 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found
