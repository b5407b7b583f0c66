"""Limits of the calendar: from the first day of year 1 to the last day of year 9999."""

from __future__ import annotations

from datetime import date
from typing import Final

from ..days import day_number
from ..instants import DAY

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
