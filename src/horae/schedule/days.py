"""Days as numbers from 1970-01-01 = 0: Gregorian arithmetic, the limits of the calendar, and day sets.

Day sets find and count days in constant time: the matching days of a month depend only on its length and on the weekday
of its first day, so that a rule such as "last working day" is 28 bit masks, computed once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, Protocol

from .instants import DAY

_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_BEFORE_MONTH: Final = tuple(sum(_MONTH_LENGTHS[:month]) for month in range(12))


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return _MONTH_LENGTHS[month - 1] + (month == 2 and is_leap(year))


def new_year(year: int) -> int:
    """The day number of the 1st of January."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 - 719_162


def first_of_month(year: int, month: int) -> int:
    return new_year(year) + _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and is_leap(year))


def weekday(day: int) -> int:
    """Monday is 0."""
    return (day + 3) % 7


_EPOCH_ORDINAL: Final = 719_163
_LAST_DAY: Final = date.max.toordinal() - _EPOCH_ORDINAL
EVERY_WEEKDAY: Final = 0b111_1111
EVERY_MONTH: Final = 0b1_1111_1111_1110
_LENGTHS: Final = ((), (31,), (28, 29), (31,), (30,), (31,), (30,), (31,), (31,), (30,), (31,), (30,), (31,))


class Days(Protocol):
    """A set of days, numbered from 1970-01-01 = 0."""

    def on_or_after(self, day: int) -> int | None: ...

    def count(self, first: int, last: int) -> int:
        """Count the days from `first` to `last`, both included."""


@dataclass(frozen=True, slots=True)
class Weekly:
    """The same weekdays in every week, as a bit mask; bit 0 is Monday."""

    weekdays: int

    def on_or_after(self, day: int) -> int | None:
        weekday = (day + 3) % 7
        rest = self.weekdays >> weekday
        if rest:
            return day + lowest_bit(rest)
        return day + 7 - weekday + lowest_bit(self.weekdays)

    def count(self, first: int, last: int) -> int:
        if last < first:
            return 0
        weeks, rest = divmod(last - first + 1, 7)
        weekday = (first + 3) % 7
        doubled = self.weekdays | self.weekdays << 7
        return weeks * self.weekdays.bit_count() + (doubled >> weekday & (1 << rest) - 1).bit_count()


# (weekday of the first, length of the month) -> bit mask of matching days, bit 1 is the 1st
MonthMask = Callable[[int, int], int]


@dataclass(frozen=True, slots=True)
class Monthly:
    """The days that a rule picks in each month of a set of months."""

    masks: tuple[int, ...]  # 12 months x 28 shapes, see `make_monthly`
    months: tuple[int, ...]  # months with at least one matching day

    def on_or_after(self, day: int) -> int | None:
        if day > _LAST_DAY:
            return None
        year, month, number = _year_month_day(day)
        first = day - number + 1
        rest = self._mask(first, year, month) >> number
        if rest:
            return day + lowest_bit(rest)
        for _ in range(len(self.months) * 400):
            year, month = self._next_month(year, month)
            first = first_of_month(year, month)
            mask = self._mask(first, year, month)
            if mask:
                result = first + lowest_bit(mask) - 1
                return result if result <= _LAST_DAY else None
        return None

    def _next_month(self, year: int, month: int) -> tuple[int, int]:
        """The next month that can have a matching day."""
        index = bisect_right(self.months, month)
        return (year, self.months[index]) if index < len(self.months) else (year + 1, self.months[0])

    def count(self, first: int, last: int) -> int:
        total, month_first = 0, first
        while month_first <= last:
            year, month, number = _year_month_day(month_first)
            start = month_first - number + 1
            end = start + days_in_month(year, month) - 1
            mask = self._mask(start, year, month) >> number
            if end > last:
                mask &= (1 << last - month_first + 1) - 1
            total += mask.bit_count()
            month_first = end + 1
        return total

    def _mask(self, first: int, year: int, month: int) -> int:
        return self.masks[month * 28 + (days_in_month(year, month) - 28) * 7 + (first + 3) % 7 - 28]


def make_monthly(months: int, mask: MonthMask) -> Monthly | None:
    """Build the set of days that `mask` picks in `months` (bit 1 is January); None if no day ever matches."""
    masks = tuple(
        mask(weekday, length) if months >> month & 1 and length in _LENGTHS[month] else 0
        for month in range(1, 13)
        for length in range(28, 32)
        for weekday in range(7)
    )
    possible = tuple(month for month in range(1, 13) if any(masks[month * 28 - 28 : month * 28]))
    return Monthly(masks, possible) if possible else None


@cache
def weekday_days(weekday_of_first: int, length: int, weekdays: int) -> int:
    """Bit mask of the days of a month that fall on these weekdays."""
    return sum(1 << day for day in range(1, length + 1) if weekdays >> (weekday_of_first + day - 1) % 7 & 1)


def nth_weekday(weekday_of_first: int, length: int, weekday: int, nth: int) -> int:
    """Bit mask of the nth such weekday of a month, from the end when negative; 0 if the month has none."""
    days = [day for day in range(1, length + 1) if (weekday_of_first + day - 1) % 7 == weekday]
    index = nth - 1 if nth > 0 else nth
    return 1 << days[index] if -len(days) <= index < len(days) else 0


def nearest_working_day(weekday_of_first: int, length: int, day: int) -> int:
    """Bit mask of the working day (Monday to Friday) nearest to a day, within the month."""
    if day > length:
        return 0
    weekday = (weekday_of_first + day - 1) % 7
    if weekday == 5:
        day += -1 if day > 1 else 2
    elif weekday == 6:
        day += 1 if day < length else -2
    return 1 << day


def to_calendar_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_ORDINAL)


def day_number(day: date) -> int:
    return day.toordinal() - _EPOCH_ORDINAL


def _year_month_day(day: int) -> tuple[int, int, int]:
    day_date = date.fromordinal(day + _EPOCH_ORDINAL)
    return day_date.year, day_date.month, day_date.day


def lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


FIRST_DAY: Final = day_number(date.min)
LAST_DAY: Final = day_number(date.max)
LAST_YEAR: Final = date.max.year
FIRST_LOCAL: Final = FIRST_DAY * DAY
LAST_LOCAL: Final = LAST_DAY * DAY + DAY - 1
DAYS_OF_400_YEARS: Final = 146_097  # the calendar repeats after so many days, weekdays included
YEARS_WITH_ALL_SHAPES: Final = (
    40  # so many successive years include every shape of year, with the shapes of its neighbours
)


def set_bits(mask: int) -> tuple[int, ...]:
    """The indexes of the set bits, in order."""
    return tuple(index for index, digit in enumerate(f"{mask:b}"[::-1]) if digit == "1")
