"""Busiest minute or second, runs per day, and the largest number of concurrent runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Final, NamedTuple

from ..model.ids import from_microseconds, to_microseconds
from ..schedule.zones import find_zone

_SECOND: Final = 1_000_000


class BusySpan(NamedTuple):
    """Start of the span, and occurrences by task number."""

    at: datetime
    tasks: Counter[int]


def find_busiest(times: Iterable[tuple[datetime, int]], width: timedelta) -> BusySpan | None:
    """Span of that width with the most occurrences; the first of equals. `times` are sorted."""
    size = to_microseconds(from_microseconds(0) + width)
    best: BusySpan | None = None
    for place, group in groupby(times, key=lambda each: to_microseconds(each[0]) // size):
        came = Counter(number for _, number in group)
        if best is None or came.total() > best.tasks.total():
            best = BusySpan(from_microseconds(place * size), came)
    return best


def count_max_concurrent(begun: Sequence[datetime], ended: Sequence[datetime]) -> int:
    """Largest number of concurrent runs; both lists are sorted. A run that ends as another starts does not overlap it."""
    most = gone = 0
    for place, at in enumerate(begun, 1):
        while gone < len(ended) and ended[gone] <= at:
            gone += 1
        most = max(most, place - gone)
    return most


def count_by_day(times: Iterable[tuple[datetime, int]], zone: str) -> Counter[date]:
    """Count by date in a zone."""
    found, days = find_zone(zone), Counter[date]()
    for at, count in times:
        offset = found.offset(to_microseconds(at) // _SECOND)
        days[(at + timedelta(seconds=offset)).date()] += count
    return days
