"""Gregorian calendar arithmetic for any year; days are numbered from 1970-01-01 = 0."""

from __future__ import annotations

from typing import Final

_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_BEFORE_MONTH: Final = tuple(sum(_LENGTHS[:month]) for month in range(12))


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return _LENGTHS[month - 1] + (month == 2 and is_leap(year))


def new_year(year: int) -> int:
    """The day number of the 1st of January."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 - 719_162


def first_of_month(year: int, month: int) -> int:
    return new_year(year) + _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and is_leap(year))


def weekday(day: int) -> int:
    """Monday is 0."""
    return (day + 3) % 7
