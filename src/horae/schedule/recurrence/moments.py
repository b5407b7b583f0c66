"""The moments that a rule expands a period into: times of a day, or minutes and seconds of an hour."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..instants import DAY
from ..wall import ListedTimes, Times, TimesOfDay
from .rule import Frequency, Rule

# Days of one period: a day to count from, and how far each of them lies behind it, in order.
Days: TypeAlias = tuple[int, Sequence[int]]


_LONGEST_LIST = 1440


def moments_of(rule: Rule) -> Times:
    """What the completed rule expands one period (a day, for longer periods) into, before any set positions."""
    if rule.freq is Frequency.SECONDLY:
        return ListedTimes((0,))
    hours = rule.by_hour if not rule.flowing else (0,)
    minutes = rule.by_minute if rule.freq is not Frequency.MINUTELY else (0,)
    found = TimesOfDay(tuple(hour * 60 + minute for hour in hours for minute in minutes), rule.by_second)
    return ListedTimes(tuple(map(found.at, range(len(found))))) if len(found) <= _LONGEST_LIST else found


class SetPositions:
    """BYSETPOS: which members of a period's set remain, counted from its beginning or from its end."""

    __slots__ = ("_from_begin", "_from_end", "least")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._from_begin = [each - 1 for each in positions if each > 0]
        self._from_end = [each for each in positions if each < 0]
        self.least = min(map(abs, positions))  # a smaller set has none of them

    def of(self, size: int) -> list[int]:
        """The indexes that remain of a set of `size` members, in order."""
        kept = {each for each in self._from_begin if each < size}
        kept.update(each + size for each in self._from_end if each + size >= 0)
        return sorted(kept)


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
class ChosenMoments:
    """Only those moments of a period whose place in it is among the set positions."""

    moments: Times
    positions: SetPositions

    def first(self, days: Days) -> int | None:
        size = len(days[1]) * len(self.moments)
        if size < self.positions.least:
            return None
        return self._at(days, self.positions.of(size)[0])

    def on_or_after(self, days: Days, local: int) -> int | None:
        chosen = self.positions.of(len(days[1]) * len(self.moments))
        index = bisect_left(chosen, local, key=lambda each: self._at(days, each))
        return self._at(days, chosen[index]) if index < len(chosen) else None

    def _at(self, days: Days, index: int) -> int:
        begin, offsets = days
        day, moment = divmod(index, len(self.moments))
        return (begin + offsets[day]) * DAY + self.moments.at(moment)
