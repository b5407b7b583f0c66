"""The moments that a rule expands a period into: times of a day, or minutes and seconds of an hour."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from .rule import Frequency, Rule
from .spans import DAY

# Days of one period: a day to count from, and how far each of them lies behind it, in order.
Days: TypeAlias = tuple[int, Sequence[int]]


class Moments(Protocol):
    """Seconds since the beginning of the day, hour, minute or second, in order; there is at least one."""

    def __len__(self) -> int: ...

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int: ...

    def at(self, index: int) -> int: ...

    def on_or_after(self, second: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Listed:
    seconds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def first(self) -> int:
        return self.seconds[0]

    @property
    def last(self) -> int:
        return self.seconds[-1]

    def at(self, index: int) -> int:
        return self.seconds[index]

    def on_or_after(self, second: int) -> int | None:
        index = bisect_left(self.seconds, second)
        return self.seconds[index] if index < len(self.seconds) else None


@dataclass(frozen=True, slots=True)
class Combined:
    """All combinations of some minutes and some seconds: two short tables stand for up to 86,400 moments."""

    minutes: tuple[int, ...]
    seconds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.minutes) * len(self.seconds)

    @property
    def first(self) -> int:
        return self.minutes[0] * 60 + self.seconds[0]

    @property
    def last(self) -> int:
        return self.minutes[-1] * 60 + self.seconds[-1]

    def at(self, index: int) -> int:
        minute, second = divmod(index, len(self.seconds))
        return self.minutes[minute] * 60 + self.seconds[second]

    def on_or_after(self, second: int) -> int | None:
        minute, rest = divmod(second, 60)
        index = bisect_left(self.minutes, minute) * len(self.seconds)
        if index < len(self) and self.at(index) // 60 == minute:
            index += bisect_left(self.seconds, rest)
        return self.at(index) if index < len(self) else None


_LONGEST_LIST = 1440


def moments_of(rule: Rule) -> Moments:
    """What the completed rule expands one period (a day, for longer periods) into, before any set positions."""
    if rule.freq is Frequency.SECONDLY:
        return Listed((0,))
    hours = rule.by_hour if not rule.flowing else (0,)
    minutes = rule.by_minute if rule.freq is not Frequency.MINUTELY else (0,)
    found = Combined(tuple(hour * 60 + minute for hour in hours for minute in minutes), rule.by_second)
    return Listed(tuple(map(found.at, range(len(found))))) if len(found) <= _LONGEST_LIST else found


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

    moments: Moments

    def first(self, days: Days) -> int | None:
        begin, offsets = days
        return (begin + offsets[0]) * DAY + self.moments.first if offsets else None

    def on_or_after(self, days: Days, local: int) -> int | None:
        begin, offsets = days
        day, second = divmod(local, DAY)
        index = bisect_left(offsets, day - begin)
        if index < len(offsets) and offsets[index] == day - begin:
            time = self.moments.on_or_after(second)
            if time is not None:
                return day * DAY + time
            index += 1
        return (begin + offsets[index]) * DAY + self.moments.first if index < len(offsets) else None


@dataclass(frozen=True, slots=True)
class ChosenMoments:
    """Only those moments of a period whose place in it is among the set positions."""

    moments: Moments
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
