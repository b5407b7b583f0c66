"""Day sets of calendar schedules: every nth period from an origin, excluded dates, and windows of hours past midnight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from .days import EVERY_WEEKDAY, Days, Weekly, first_of_month, nth_weekday, to_calendar_date, weekday_days
from .instants import DAY
from .wall import DaysAndTimes, Times

Unit = Literal["day", "week", "month", "year"]

_MAX_SEARCH_DAYS: Final = 146_097  # days in 400 years, after which the calendar repeats


def month_mask(
    numbers: tuple[int, ...], nths: tuple[tuple[int, int], ...], weekdays: int, weekday_of_first: int, length: int
) -> int:
    """Bit mask of the days in a month; days beyond its end clamp to its last day, negative ones before the 1st to the 1st."""
    window = weekday_days(weekday_of_first, length, weekdays)
    if not numbers and not nths:
        return window
    mask = 0
    for number in numbers:
        mask |= 1 << (min(number, length) if number > 0 else max(length + 1 + number, 1))
    for weekday, nth in nths:
        mask |= nth_weekday(weekday_of_first, length, weekday, nth)
    return mask & window


@dataclass(frozen=True, slots=True)
class CountedPeriods:
    """The days of every nth day, week, month or year, counted from the period that holds `origin`."""

    days: Days
    unit: Unit
    every: int
    origin: int

    def on_or_after(self, day: int) -> int | None:
        match = self.days.on_or_after(day)
        while match is not None and match <= day + _MAX_SEARCH_DAYS:
            behind = (self._period(match) - self._period(self.origin)) % self.every
            if behind == 0:
                return match
            match = self.days.on_or_after(self._first_day(self._period(match) + self.every - behind))
        return None

    def count(self, first: int, last: int) -> int:
        if self.unit == "day" and self.days == Weekly(EVERY_WEEKDAY):
            return max(0, (last - self.origin) // self.every - (first - 1 - self.origin) // self.every)
        total = 0
        match = self.on_or_after(first)
        while match is not None and match <= last:
            end = self._first_day(self._period(match) + 1) - 1
            total += self.days.count(match, min(end, last))
            match = self.on_or_after(end + 1)
        return total

    def _period(self, day: int) -> int:
        if self.unit == "day":
            return day
        if self.unit == "week":
            return (day + 3) // 7
        match = to_calendar_date(day)
        return match.year if self.unit == "year" else match.year * 12 + match.month - 1

    def _first_day(self, period: int) -> int:
        if self.unit == "day":
            return period
        if self.unit == "week":
            return period * 7 - 3
        year, month = (period, 0) if self.unit == "year" else divmod(period, 12)
        return first_of_month(year, month + 1)


@dataclass(frozen=True, slots=True)
class ExcludingDates:
    """A day set without certain dates."""

    days: Days
    excluded: frozenset[int]

    def on_or_after(self, day: int) -> int | None:
        match = self.days.on_or_after(day)
        while match is not None and match in self.excluded:
            match = self.days.on_or_after(match + 1)
        return match

    def count(self, first: int, last: int) -> int:
        removed = sum(self.days.count(day, day) for day in self.excluded if first <= day <= last)
        return self.days.count(first, last) - removed


@dataclass(frozen=True, slots=True)
class OvernightPattern:
    """Wall times of a window of hours that runs past midnight and belongs to the day on which it opened."""

    days: Days
    times: Times
    late: Times
    excluded: frozenset[int]

    def next_local(self, local: int) -> int | None:
        match = self._next_unfiltered(local)
        while match is not None and match // DAY in self.excluded:
            match = self._next_unfiltered((match // DAY + 1) * DAY - 1)
        return match

    def count_local(self, first: int, last: int) -> int | None:
        """Count both parts separately: a window is shorter than a day, so they never overlap."""
        total = self._count_unfiltered(first, last)
        for day in self.excluded:
            total -= self._count_unfiltered(max(first, day * DAY), min(last, day * DAY + DAY - 1))
        return total

    def _count_unfiltered(self, first: int, last: int) -> int:
        if last < first:
            return 0
        same_day = DaysAndTimes(self.days, self.times).count_local(first, last)
        overnight = DaysAndTimes(self.days, self.late).count_local(first - DAY, last - DAY)
        return (same_day or 0) + (overnight or 0)

    def _next_unfiltered(self, local: int) -> int | None:
        day, second = divmod(local, DAY)
        candidates = []
        if self.days.on_or_after(day - 1) == day - 1 and (time_after_midnight := self.late.after(second)) is not None:
            candidates.append(day * DAY + time_after_midnight)
        opening = self.days.on_or_after(day)
        if opening == day and (time := self.times.after(second)) is not None:
            candidates.append(day * DAY + time)
        if opening == day:
            candidates.append((day + 1) * DAY + self.late.first)
            opening = self.days.on_or_after(day + 1)
        if opening is not None:
            candidates.append(opening * DAY + self.times.first)
        return min(candidates, default=None)
