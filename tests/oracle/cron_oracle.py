"""When a cron schedule fires: every wall-clock candidate of every day, or every minute of real time, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from typing import Literal

from . import zone_oracle
from .cron_reader import Expression, read

Gap = Literal["next", "shift", "skip"]
Fold = Literal["first", "last", "both"]

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
# A forward jump from here on is a change of calendar (the date line), not of the clock.
DATE_LINE = timedelta(hours=3)


def fires(
    expression: str, zone: str, after: datetime, until: datetime, *, gap: Gap = "next", fold: Fold = "first"
) -> list[datetime]:
    """The instants later than `after` and not later than `until`, oldest first, each once."""
    cron = read_cached(expression)
    found = _flowing(cron, zone, after, until) if cron.flowing else _pinned(cron, zone, _days(after, until), gap, fold)
    return sorted({instant for instant in found if after < instant <= until})


@lru_cache(maxsize=64)
def read_cached(expression: str) -> Expression:
    return read(expression)


def _days(after: datetime, until: datetime) -> Iterator[date]:
    """Every date whose readings may fall in between: two days of slack are more than any offset plus any gap."""
    day = after.date() - 2 * DAY
    while day <= until.date() + 2 * DAY:
        yield day
        day += DAY


def _pinned(cron: Expression, zone: str, days: Iterator[date], gap: Gap, fold: Fold) -> Iterator[datetime]:
    for day in days:
        if cron.falls_on(day):
            for hour, minute, second in product(cron.hours, cron.minutes, cron.seconds):
                wall = datetime(day.year, day.month, day.day, hour, minute, second)
                yield from _instants_of(wall, zone, gap, fold)


def _instants_of(wall: datetime, zone: str, gap: Gap, fold: Fold) -> list[datetime]:
    instants = zone_oracle.instants_reading(zone, wall)
    if not instants:
        return _instead_of_missing(wall, zone, gap)
    if fold == "first":
        return instants[:1]
    if fold == "last":
        return instants[-1:]
    return instants


def _instead_of_missing(wall: datetime, zone: str, gap: Gap) -> list[datetime]:
    change = zone_oracle.gap_over(zone, wall)
    assert change is not None, f"{zone} has no instant for {wall} and no gap there"
    if gap == "skip" or change.jump >= DATE_LINE:
        return []
    if gap == "next":
        return [change.instant]
    return [wall.replace(tzinfo=UTC) - change.before]


def _flowing(cron: Expression, zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """Real time, minute by minute, wherever the wall clock then shows a matching reading."""
    falls_on = cache(cron.falls_on)
    clock = zone_oracle.zone(zone)
    for instant in _minutes(after, until, falls_on):
        wall = instant.astimezone(clock)
        assert wall.second == 0, f"{zone} is not on whole minutes at {instant}"
        if wall.minute in cron.minutes and wall.hour in cron.hours and falls_on(wall.date()):
            for second in cron.seconds:
                yield instant + timedelta(seconds=second)


def _minutes(after: datetime, until: datetime, falls_on: Callable[[date], bool]) -> Iterator[datetime]:
    """The minutes of every day of UTC that is worth walking through: no wall clock is more than a day away from it."""
    midnight = after.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    while midnight <= until:
        if any(falls_on(midnight.date() + near * DAY) for near in (-1, 0, 1)):
            minutes = (midnight + number * MINUTE for number in range(24 * 60))
            yield from (instant for instant in minutes if after - MINUTE < instant <= until)
        midnight += DAY
