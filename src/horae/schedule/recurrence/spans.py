"""The calendar that rules live in: from the first day of year 1 to the last day of year 9999."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

DAY: Final = 86_400
_EPOCH_ORDINAL: Final = 719_163
FIRST_DAY: Final = date.min.toordinal() - _EPOCH_ORDINAL
LAST_DAY: Final = date.max.toordinal() - _EPOCH_ORDINAL
LAST_YEAR: Final = date.max.year
FIRST_LOCAL: Final = FIRST_DAY * DAY
LAST_LOCAL: Final = LAST_DAY * DAY + DAY - 1
DAYS_OF_400_YEARS: Final = 146_097  # after so many days the calendar repeats, weekdays included
ALL_SHAPES: Final = 40  # so many successive years hold every shape of year: weekdays, leap years, and those beside them


def date_of(day: int) -> date:
    return date.fromordinal(day + _EPOCH_ORDINAL)


def day_of(day: date) -> int:
    return day.toordinal() - _EPOCH_ORDINAL


def local_of(moment: datetime) -> int:
    return day_of(moment) * DAY + moment.hour * 3600 + moment.minute * 60 + moment.second


def datetime_of(local: int) -> datetime:
    day, second = divmod(local, DAY)
    found = date_of(day)
    return datetime(found.year, found.month, found.day, second // 3600, second // 60 % 60, second % 60)  # noqa: DTZ001


def lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> tuple[int, ...]:
    """The numbers of the bits that are set, in order."""
    return tuple(index for index, digit in enumerate(f"{mask:b}"[::-1]) if digit == "1")
