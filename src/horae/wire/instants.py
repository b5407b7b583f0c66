"""Instants and durations to JSON and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from ..schedule.instants import SECOND, to_instant
from ..schedule.zones import find_zone


def utc(at: datetime | None) -> str | None:
    """Format as `2026-11-16T05:48:44.123Z`: milliseconds, or microseconds where there are any; the round trip is exact."""
    if at is None:
        return None
    plain = (at if at.tzinfo is UTC else at.astimezone(UTC)).replace(tzinfo=None)
    return plain.isoformat(timespec="microseconds" if plain.microsecond % 1000 else "milliseconds") + "Z"


def parse_instant(text: str) -> datetime:
    """Parse an instant with an offset; ValueError without one."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at.astimezone(UTC)


def parse_optional_instant(text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text)


def duration_from_ms(number: float) -> timedelta:
    """Return a number of milliseconds as a timedelta, exact to the microsecond."""
    return timedelta(microseconds=round(number * 1000))


def local(at: datetime | None, zone: str | None) -> str | None:
    """Format the instant as local time of a zone, with its offset."""
    if at is None:
        return None
    offset = find_zone(zone or "UTC").offset(to_instant(at) // SECOND)
    wall = at.astimezone(_fixed_offset(offset))
    return wall.isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds")


@lru_cache(maxsize=1_024)
def _fixed_offset(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset))


def milliseconds(length: timedelta | None) -> float | None:
    """Return milliseconds, as an int where the number is whole."""
    if length is None:
        return None
    number = length / timedelta(milliseconds=1)
    return int(number) if number == int(number) else round(number, 3)
