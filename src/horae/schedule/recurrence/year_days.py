"""Bit masks of the days that a rule allows in a year; they depend only on its first weekday and its length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Final

from ..days import (
    DAYS_OF_400_YEARS,
    LAST_DAY,
    LAST_YEAR,
    YEARS_WITH_ALL_SHAPES,
    is_leap,
    lowest_bit,
    new_year,
    to_calendar_date,
    weekday,
)
from .rule import Rule

_MONTHS: Final = range(1, 13)
_BYTES_OF_DIGITS: Final = bytes.maketrans(b"01", b"\x00\x01")


@dataclass(frozen=True, slots=True)
class DayChoice:
    """The parts of a rule that restrict days; a day has to satisfy every part, and an empty part allows all."""

    months: tuple[int, ...]
    year_days: tuple[int, ...]
    month_days: tuple[int, ...]
    weekdays: tuple[tuple[int, int | None], ...]

    @classmethod
    def of(cls, rule: Rule) -> DayChoice | None:
        """The day restrictions of a rule; None if it has none."""
        choice = cls(rule.by_month, rule.by_year_day, rule.by_month_day, rule.by_day)
        return choice if choice != cls((), (), (), ()) else None


class YearDays:
    """Computes the allowed days year by year, with a cache of the few shapes that a year can have."""

    __slots__ = ("_choice", "_masks")

    def __init__(self, choice: DayChoice) -> None:
        self._choice = choice
        self._masks: dict[int, int] = {}

    def mask(self, year: int) -> int:
        """The allowed days of a year; bit 0 is 1 January."""
        shape = weekday(new_year(year)) * 2 + is_leap(year)
        mask = self._masks.get(shape)
        if mask is None:
            mask = self._masks[shape] = year_mask(self._choice, *divmod(shape, 2))
        return mask

    def on_or_after(self, day: int) -> int | None:
        if day > LAST_DAY:
            return None
        year = to_calendar_date(day).year
        rest = self.mask(year) >> day - new_year(year)
        if rest:
            return day + lowest_bit(rest)
        for later in range(year + 1, min(year + YEARS_WITH_ALL_SHAPES, LAST_YEAR) + 1):
            mask = self.mask(later)
            if mask:
                return new_year(later) + lowest_bit(mask)
        return None

    def flags(self, day: int) -> bytes:
        """One byte for each of the 146,097 days from `day` on: 1 if the day is allowed, else 0."""
        year = to_calendar_date(day).year
        shapes: dict[tuple[int, int], bytes] = {}
        all_flags = b"".join(self._flags_of_year(each, shapes) for each in range(year, year + 401))
        before = day - new_year(year)
        return all_flags[before : before + DAYS_OF_400_YEARS]

    def _flags_of_year(self, year: int, shapes: dict[tuple[int, int], bytes]) -> bytes:
        shape = (self.mask(year), 365 + is_leap(year))
        if shape not in shapes:
            shapes[shape] = flags(*shape)
        return shapes[shape]


def flags(mask: int, length: int) -> bytes:
    """A bit mask as bytes of 0 and 1, lowest bit first."""
    return f"{mask:0{length}b}"[::-1].encode().translate(_BYTES_OF_DIGITS)


def year_mask(choice: DayChoice, first_weekday: int, leap: int) -> int:
    mask = (1 << 365 + leap) - 1
    if choice.months:
        mask &= _union(_month(leap, month) for month in choice.months)
    if choice.year_days:
        mask &= _year_days(choice.year_days, leap)
    if choice.month_days:
        mask &= _union(_month_day(leap, nth) for nth in choice.month_days)
    if choice.weekdays and mask:
        # An nth weekday counts within each month if the rule names months, else within the year.
        spans = [_month_span(leap, month) for month in choice.months] or [(0, 365 + leap)]
        weekdays = _possible_weekdays(choice.weekdays, most=5 if choice.months else 53)
        mask &= _union(_nth_weekday(first_weekday, *span, *weekday) for span in spans for weekday in weekdays)
    return mask


def month_mask(choice: DayChoice, first_weekday: int, length: int) -> int:
    """The allowed days of one month; bit 0 is its first day, and the months of the choice are ignored."""
    mask = (1 << length) - 1
    if choice.month_days:
        mask &= _union(_nth_bit(length, 0, nth) for nth in choice.month_days)
    if choice.weekdays and mask:
        weekdays = _possible_weekdays(choice.weekdays, most=5)
        mask &= _union(_nth_weekday(first_weekday, 0, length, *weekday) for weekday in weekdays)
    return mask


def _possible_weekdays(weekdays: tuple[tuple[int, int | None], ...], most: int) -> list[tuple[int, int | None]]:
    return [(day, nth) for day, nth in weekdays if nth is None or -most <= nth <= most]


def _nth_weekday(first_weekday: int, begin: int, length: int, day: int, nth: int | None) -> int:
    """Bit mask of a weekday, or of its nth occurrence, in the span [begin, begin + length) of a year or month."""
    first = (day - first_weekday - begin) % 7
    weeks = (length - first + 6) // 7
    if nth is None:
        return _every_seventh(weeks) << begin + first
    if abs(nth) > weeks:
        return 0
    return 1 << begin + first + 7 * (nth - 1 if nth > 0 else weeks + nth)


@cache
def _every_seventh(weeks: int) -> int:
    return _union(1 << 7 * week for week in range(weeks))


@lru_cache(maxsize=256)
def _year_days(days: tuple[int, ...], leap: int) -> int:
    return _union(_nth_bit(365 + leap, 0, nth) for nth in days)


@cache
def _month_day(leap: int, nth: int) -> int:
    spans = (_month_span(leap, month) for month in _MONTHS)
    return _union(_nth_bit(length, begin, nth) for begin, length in spans)


@cache
def _month(leap: int, month: int) -> int:
    begin, length = _month_span(leap, month)
    return (1 << length) - 1 << begin


@cache
def _month_span(leap: int, month: int) -> tuple[int, int]:
    """(days of the year before the month, length of the month)."""
    lengths = (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return sum(lengths[: month - 1]), lengths[month - 1]


def _nth_bit(length: int, begin: int, nth: int) -> int:
    """Bit mask of the nth of `length` bits from `begin` on, from the end when negative; 0 if there are fewer."""
    if abs(nth) > length:
        return 0
    return 1 << begin + (nth - 1 if nth > 0 else length + nth)


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)
