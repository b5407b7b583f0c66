"""Wall-clock patterns: days and times of day without a zone, in seconds from 1970-01-01 00:00."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from .days import EVERY_WEEKDAY, Days
from .instants import DAY


class WallPattern(Protocol):
    def next_local(self, local: int) -> int | None:
        """The first matching wall time strictly after `local`."""

    def count_local(self, first: int, last: int) -> int | None:
        """Count the matches from `first` to `last`, both included; None if only iterating can count them."""


class Times(Protocol):
    """Times of day, in seconds from midnight."""

    def __len__(self) -> int: ...

    @property
    def first(self) -> int: ...

    def at(self, index: int) -> int: ...

    def after(self, second: int) -> int | None:
        """The first time of day strictly after `second`."""

    def count_until(self, second: int) -> int:
        """Count the times at or before `second`."""

    def all(self) -> Iterable[int]: ...


@dataclass(frozen=True, slots=True)
class ListedTimes:
    """A sorted list of times."""

    seconds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def first(self) -> int:
        return self.seconds[0]

    def at(self, index: int) -> int:
        return self.seconds[index]

    def after(self, second: int) -> int | None:
        index = bisect_right(self.seconds, second)
        return self.seconds[index] if index < len(self.seconds) else None

    def count_until(self, second: int) -> int:
        return bisect_right(self.seconds, second)

    def all(self) -> Iterable[int]:
        return self.seconds


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Times as minutes of the day times seconds of the minute: two short tables represent up to 86,400 times."""

    minutes: tuple[int, ...]
    seconds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.minutes) * len(self.seconds)

    @property
    def first(self) -> int:
        return self.minutes[0] * 60 + self.seconds[0]

    def at(self, index: int) -> int:
        minute, second = divmod(index, len(self.seconds))
        return self.minutes[minute] * 60 + self.seconds[second]

    def after(self, second: int) -> int | None:
        minute, rest = divmod(second, 60)
        index = bisect_left(self.minutes, minute)
        if index == len(self.minutes):
            return None
        if self.minutes[index] > minute:
            return self.minutes[index] * 60 + self.seconds[0]
        second_index = bisect_right(self.seconds, rest)
        if second_index < len(self.seconds):
            return minute * 60 + self.seconds[second_index]
        return self.minutes[index + 1] * 60 + self.seconds[0] if index + 1 < len(self.minutes) else None

    def count_until(self, second: int) -> int:
        minute, rest = divmod(second, 60)
        index = bisect_left(self.minutes, minute)
        total = index * len(self.seconds)
        if index < len(self.minutes) and self.minutes[index] == minute:
            total += bisect_right(self.seconds, rest)
        return total

    def all(self) -> Iterable[int]:
        return (minute * 60 + second for minute in self.minutes for second in self.seconds)


def make_times(seconds: Iterable[int]) -> Times:
    """Build the compact form if the times are all combinations of some minutes and some seconds, else a list."""
    listed = sorted(set(seconds))
    minutes, parts = sorted({each // 60 for each in listed}), sorted({each % 60 for each in listed})
    if len(minutes) * len(parts) == len(listed):
        return TimesOfDay(tuple(minutes), tuple(parts))
    return ListedTimes(tuple(listed))


@dataclass(frozen=True, slots=True)
class DaysAndTimes:
    """Every time on every day."""

    days: Days
    times: Times

    def next_local(self, local: int) -> int | None:
        day, second = divmod(local, DAY)
        match_day = self.days.on_or_after(day)
        if match_day == day:
            time = self.times.after(second)
            if time is not None:
                return day * DAY + time
            match_day = self.days.on_or_after(day + 1)
        return None if match_day is None else match_day * DAY + self.times.first

    def count_local(self, first: int, last: int) -> int | None:
        if last < first:
            return 0
        (first_day, first_second), (last_day, last_second) = divmod(first, DAY), divmod(last, DAY)
        total = self.days.count(first_day, last_day) * len(self.times)
        total -= self.days.count(first_day, first_day) * self.times.count_until(first_second - 1)
        total -= self.days.count(last_day, last_day) * (len(self.times) - self.times.count_until(last_second))
        return total


MAX_OFFSETS: Final = 2016


def periodic_offsets(weekdays: int, times: Times) -> tuple[int, tuple[int, ...]] | None:
    """(period, offsets) if a pattern repeats by the minute, hour, day or week and is small enough to tabulate; else None.

    The offsets are counted from a multiple of the period since 1970-01-01 (a Thursday), and end with the first one
    of the next period, so that one bisection finds the next one without a special case.
    """
    if weekdays != EVERY_WEEKDAY:
        days = [day for day in range(7) if weekdays >> (day + 3) % 7 & 1]
        if len(days) * len(times) > MAX_OFFSETS:
            return None
        return close_table(7 * DAY, [day * DAY + time for day in days for time in times.all()])
    for period in (60, 3600):
        offsets = [each for each in times.all() if each < period]
        if len(times) == len(offsets) * DAY // period and _is_repeating(times, offsets, period):
            return close_table(period, offsets)
    return close_table(DAY, list(times.all())) if len(times) <= MAX_OFFSETS else None


def _is_repeating(times: Times, offsets: list[int], period: int) -> bool:
    repeated = (start + each for start in range(0, DAY, period) for each in offsets)
    return all(one == other for one, other in zip(times.all(), repeated, strict=True))


def close_table(period: int, offsets: list[int]) -> tuple[int, tuple[int, ...]]:
    """(period, offsets with the first one of the next period); an evenly spaced table becomes one stride."""
    stride, rest = divmod(period, len(offsets))
    if rest == 0 and offsets == list(range(offsets[0], offsets[0] + period, stride)):
        return stride, (offsets[0], offsets[0] + stride)
    return period, (*offsets, offsets[0] + period)
