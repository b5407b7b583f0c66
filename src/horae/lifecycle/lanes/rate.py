"""Rule of a lane with a rate: start k is allowed one period after start k − n, so no window holds more than n starts.

An instant is checked as the claim has it, and kept as not earlier than the one before. So the rule also holds when the
clock of a node is behind, or was set back: then the lane waits until the clock has passed the kept instants again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...model.lanes.rate import Rate, StartsAt


def starts_left(rate: Rate, kept: Sequence[StartsAt], now: datetime | None) -> int:
    """Return how many starts are allowed at this instant; None: at any instant, however early."""
    within = sum(each.number for each in kept if now is None or each.at > now - rate.period)
    return max(0, rate.starts - within)


def next_start(rate: Rate, kept: Sequence[StartsAt], reserved: int = 0) -> datetime | None:
    """Return the earliest instant of the start that follows `reserved` further ones.

    None: it is allowed at any instant, or depends on one of those that have not happened yet.
    """
    return instant_after(rate, kept, sum(each.number for each in kept) - rate.starts + reserved)


def instant_after(rate: Rate, kept: Sequence[StartsAt], place: int) -> datetime | None:
    """Return the instant one period after the kept start at this place (0: the oldest); None if there is none."""
    if place < 0:
        return None
    for at, count in kept:
        place -= count
        if place < 0:
            return at + rate.period
    return None


def record_starts(rate: Rate, kept: Sequence[StartsAt], now: datetime, count: int) -> tuple[StartsAt, ...]:
    """Return the kept starts with those of a claim at this instant."""
    if kept and kept[-1].at >= now:
        at, before = kept[-1]
        return keep_last_starts(rate, (*kept[:-1], StartsAt(at, before + count)))
    return keep_last_starts(rate, (*kept, StartsAt(now, count)))


def keep_last_starts(rate: Rate, kept: Sequence[StartsAt]) -> tuple[StartsAt, ...]:
    """Return the instants of the last n starts: no earlier one decides about a start to come."""
    number = 0
    for place in range(len(kept) - 1, -1, -1):
        number += kept[place].number
        if number >= rate.starts:
            return tuple(kept[place:])
    return tuple(kept)
