"""Search for WEEKLY, MONTHLY and YEARLY rules: numbers the periods, and lists the days that a rule picks in each."""

from __future__ import annotations

from math import gcd
from typing import Final, Protocol

from ..days import (
    FIRST_DAY,
    LAST_DAY,
    LAST_YEAR,
    YEARS_WITH_ALL_SHAPES,
    days_in_month,
    first_of_month,
    is_leap,
    new_year,
    set_bits,
    to_calendar_date,
    weekday,
)
from ..instants import DAY
from .moments import Days, EveryMoment, SelectedMoments, SetPositions, expand_moments
from .rule import Frequency, Rule
from .year_days import DayChoice, YearDays, month_mask

_MARGIN: Final = 7  # an ISO week year overlaps its neighbours by at most three days


class Periods(Protocol):
    @property
    def last(self) -> int:
        """The number of the last period that can contain a day of year 9999."""

    @property
    def cycle(self) -> int:
        """The number of periods in 400 years, after which the calendar repeats."""

    def number(self, day: int) -> int:
        """The number of the period that contains a day."""

    def days(self, number: int) -> Days:
        """The days that the rule picks in a period."""


class Weeks:
    cycle: Final = 20_871

    def __init__(self, rule: Rule) -> None:
        self._begin = rule.wkst - 3
        self._offsets = sorted((day - rule.wkst) % 7 for day, _ in rule.by_day)
        self._months = frozenset(rule.by_month)
        self.last = self.number(LAST_DAY)

    def number(self, day: int) -> int:
        return (day - self._begin) // 7

    def days(self, number: int) -> Days:
        first = number * 7 + self._begin
        if not self._months:
            return first, self._offsets
        return first, [offset for offset in self._offsets if self._in_months(first + offset)]

    def _in_months(self, day: int) -> bool:
        return FIRST_DAY <= day <= LAST_DAY and to_calendar_date(day).month in self._months


class Months:
    cycle: Final = 4_800
    last: Final = LAST_YEAR * 12 + 11

    def __init__(self, rule: Rule, choice: DayChoice) -> None:
        self._months = frozenset(rule.by_month or range(1, 13))
        self._choice = choice
        self._shapes: dict[tuple[int, int], tuple[int, ...]] = {}

    def number(self, day: int) -> int:
        month_date = to_calendar_date(day)
        return month_date.year * 12 + month_date.month - 1

    def days(self, number: int) -> Days:
        year, month = divmod(number, 12)
        if month + 1 not in self._months:
            return 0, ()
        first = first_of_month(year, month + 1)
        shape = (weekday(first), days_in_month(year, month + 1))
        offsets = self._shapes.get(shape)
        if offsets is None:
            offsets = self._shapes[shape] = set_bits(month_mask(self._choice, *shape))
        return first, offsets


class Years:
    cycle: Final = 400
    last: Final = LAST_YEAR

    def __init__(self, choice: DayChoice) -> None:
        self._days = YearDays(choice)
        self._shapes: dict[int, tuple[int, ...]] = {}

    def number(self, day: int) -> int:
        return to_calendar_date(day).year

    def days(self, number: int) -> Days:
        mask = self._days.mask(number)
        offsets = self._shapes.get(mask)
        if offsets is None:
            offsets = self._shapes[mask] = set_bits(mask)
        return new_year(number), offsets


class WeekYears:
    """Week-numbering years of ISO 8601: the first week has four days or more in January.

    BYWEEKNO uses these years, so that 29 December can belong to the first week of the next year.
    """

    cycle: Final = 400
    last: Final = LAST_YEAR + 1

    def __init__(self, rule: Rule, choice: DayChoice) -> None:
        self._wkst = rule.wkst
        self._weeks = rule.by_week_number
        self._days = YearDays(choice)
        self._masks: dict[int, int] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}

    def number(self, day: int) -> int:
        year = to_calendar_date(day).year
        if day < self._begin(year):
            return year - 1
        return year + (day >= self._begin(year + 1))

    def days(self, number: int) -> Days:
        begin, end = self._begin(number), self._begin(number + 1)
        first = new_year(number) - _MARGIN
        mask = self._week_mask((end - begin) // 7) << begin - first & self._with_neighbours(number)
        offsets = self._shapes.get(mask)
        if offsets is None:
            offsets = self._shapes[mask] = set_bits(mask)
        return first, offsets

    def _week_mask(self, weeks: int) -> int:
        """Bit mask of the days of the selected weeks; bit 0 is the first day of the first of `weeks` weeks."""
        mask = self._masks.get(weeks)
        if mask is None:
            chosen = {each - 1 if each > 0 else weeks + each for each in self._weeks if abs(each) <= weeks}
            mask = self._masks[weeks] = sum(0b111_1111 << week * 7 for week in chosen)
        return mask

    def _with_neighbours(self, year: int) -> int:
        """Bit mask of the allowed days of a year, with a margin of days of the years before and after."""
        before = self._days.mask(year - 1) >> 365 + is_leap(year - 1) - _MARGIN
        after = self._days.mask(year + 1) & (1 << _MARGIN) - 1
        return before | self._days.mask(year) << _MARGIN | after << _MARGIN + 365 + is_leap(year)

    def _begin(self, year: int) -> int:
        fourth = new_year(year) + 3
        return fourth - (weekday(fourth) - self._wkst) % 7


class PeriodSearch:
    """Searches every INTERVAL periods, from the period of the start, for the next match."""

    __slots__ = ("_choice", "_interval", "_origin", "_periods", "_search_length")

    def __init__(self, rule: Rule, start: int) -> None:
        moments = expand_moments(rule)
        positions = rule.by_set_position
        self._choice = SelectedMoments(moments, SetPositions(positions)) if positions else EveryMoment(moments)
        self._periods = _periods_of(rule)
        self._interval = rule.interval
        self._origin = self._periods.number(start // DAY)
        self._search_length = _search_length(self._periods.cycle, rule.interval)

    def on_or_after(self, local: int) -> int | None:
        periods = self._periods
        number = periods.number(local // DAY)
        wait = (self._origin - number) % self._interval
        if not wait:
            match = self._choice.on_or_after(periods.days(number), local)
            if match is not None:
                return match
            wait = self._interval
        stop = min(periods.last, number + wait + self._search_length)
        for later in range(number + wait, stop + 1, self._interval):
            match = self._choice.first(periods.days(later))
            if match is not None:
                return match
        return None


def _search_length(cycle: int, interval: int) -> int:
    """The number of periods to search: if they contain no match, no later one does."""
    if interval == 1:
        return cycle * YEARS_WITH_ALL_SHAPES // 400 + 1
    return cycle // gcd(cycle, interval) * interval


def _periods_of(rule: Rule) -> Periods:
    choice = DayChoice(rule.by_month, rule.by_year_day, rule.by_month_day, rule.by_day)
    if rule.freq is Frequency.WEEKLY:
        return Weeks(rule)
    if rule.freq is Frequency.MONTHLY:
        return Months(rule, choice)
    return WeekYears(rule, choice) if rule.by_week_number else Years(choice)
