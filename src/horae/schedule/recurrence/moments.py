"""Expansion of a period into moments: times of a day, or minutes and seconds of an hour, filtered by BYSETPOS."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..instants import DAY
from ..wall import ListedTimes, Times, TimesOfDay
from .rule import Frequency, Rule

# Days of one period: a base day, and the sorted offsets of the days from it.
Days: TypeAlias = tuple[int, Sequence[int]]


_MAX_LISTED = 1440


def expand_moments(rule: Rule) -> Times:
    """The moments that a completed rule expands one period (at most a day) into, before BYSETPOS."""
    if rule.freq is Frequency.SECONDLY:
        return ListedTimes((0,))
    hours = rule.by_hour if not rule.flowing else (0,)
    minutes = rule.by_minute if rule.freq is not Frequency.MINUTELY else (0,)
    times = TimesOfDay(tuple(hour * 60 + minute for hour in hours for minute in minutes), rule.by_second)
    return ListedTimes(tuple(map(times.at, range(len(times))))) if len(times) <= _MAX_LISTED else times


class SetPositions:
    """BYSETPOS: selects members of a period's set, counted from its beginning or from its end."""

    __slots__ = ("_from_begin", "_from_end", "least")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._from_begin = [each - 1 for each in positions if each > 0]
        self._from_end = [each for each in positions if each < 0]
        self.least = min(map(abs, positions))  # a smaller set has no selected member

    def of(self, size: int) -> list[int]:
        """The sorted indexes selected from a set of `size` members."""
        selected = {each for each in self._from_begin if each < size}
        selected.update(each + size for each in self._from_end if each + size >= 0)
        return sorted(selected)


@dataclass(frozen=True, slots=True)
class EveryMoment:
    """Every moment of every day of a period."""

    moments: Times

    def first(self, days: Days) -> int | None:
        begin, offsets = days
        return (begin + offsets[0]) * DAY + self.moments.first if offsets else None

    def on_or_after(self, days: Days, local: int) -> int | None:
        begin, offsets = days
        day, second = divmod(local, DAY)
        index = bisect_left(offsets, day - begin)
        if index < len(offsets) and offsets[index] == day - begin:
            time = self.moments.after(second - 1)
            if time is not None:
                return day * DAY + time
            index += 1
        return (begin + offsets[index]) * DAY + self.moments.first if index < len(offsets) else None


@dataclass(frozen=True, slots=True)
class SelectedMoments:
    """Only those moments of a period whose index is among the set positions."""

    moments: Times
    positions: SetPositions

    def first(self, days: Days) -> int | None:
        size = len(days[1]) * len(self.moments)
        if size < self.positions.least:
            return None
        return self._at(days, self.positions.of(size)[0])

    def on_or_after(self, days: Days, local: int) -> int | None:
        selected = self.positions.of(len(days[1]) * len(self.moments))
        index = bisect_left(selected, local, key=lambda each: self._at(days, each))
        return self._at(days, selected[index]) if index < len(selected) else None

    def _at(self, days: Days, index: int) -> int:
        begin, offsets = days
        day, moment = divmod(index, len(self.moments))
        return (begin + offsets[day]) * DAY + self.moments.at(moment)
