"""Reads a cron expression into sets of numbers and questions about days; refuses what the dialect refuses."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS_IN_ORDER = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
MONTH_NAMES = {name: number for number, name in enumerate(MONTHS_IN_ORDER, start=1)}
WEEKDAY_NAMES = {"SUN": 0, "MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6}
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

DayQuestion = Callable[[date], bool]


class Refused(ValueError):  # noqa: N818 - the word of the rules
    """An expression that the dialect does not accept."""


@dataclass(frozen=True, slots=True)
class Field:
    """Lowest and highest number, where `*` ends (Sunday is 0 and 7, but once a week), and names for numbers."""

    lowest: int
    highest: int
    star_ends: int
    names: dict[str, int]

    def number(self, text: str) -> int:
        value = self.names.get(text.upper())
        if value is None:
            if not re.fullmatch("[0-9]+", text):
                raise Refused(text)
            value = int(text)
        if not self.lowest <= value <= self.highest:
            raise Refused(text)
        return value

    def values(self, item: str) -> set[int]:
        """The numbers of one item of a list: `*`, `a`, `a-b`, each with or without `/n`."""
        span, slash, step_text = item.partition("/")
        first, last = self._span(span, open_ended=bool(slash))
        if not slash:
            return set(range(first, last + 1))
        if not re.fullmatch("[0-9]+", step_text) or not 1 <= int(step_text) <= last - first:
            raise Refused(item)
        return set(range(first, last + 1, int(step_text)))

    def _span(self, span: str, *, open_ended: bool) -> tuple[int, int]:
        if span == "*":
            return self.lowest, self.star_ends
        left, dash, right = span.partition("-")
        first = self.number(left)
        if not dash:
            return first, self.highest if open_ended else first
        last = 7 if self is WEEKDAY and right.upper() == "SUN" else self.number(right)
        if first > last:
            raise Refused(span)
        return first, last

    def all_values(self, text: str) -> frozenset[int]:
        return frozenset(value for item in text.split(",") for value in self.values(item))


SECOND = MINUTE = Field(0, 59, 59, {})
HOUR = Field(0, 23, 23, {})
MONTH_DAY = Field(1, 31, 31, {})
MONTH = Field(1, 12, 12, MONTH_NAMES)
WEEKDAY = Field(0, 7, 6, WEEKDAY_NAMES)


@dataclass(frozen=True, slots=True)
class Expression:
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    month_day: DayQuestion
    weekday: DayQuestion
    both_days_must_match: bool
    flowing: bool

    def falls_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        if self.both_days_must_match:
            return self.month_day(day) and self.weekday(day)
        return self.month_day(day) or self.weekday(day)


def read(text: str) -> Expression:
    parts = ALIASES.get(text.strip().lower(), text).split()
    if len(parts) == 5:
        parts = ["0", *parts]
    if len(parts) != 6:
        raise Refused(text)
    second, minute, hour, month_day, month, weekday = parts
    expression = Expression(
        seconds=SECOND.all_values(second),
        minutes=MINUTE.all_values(minute),
        hours=HOUR.all_values(hour),
        months=MONTH.all_values(month),
        month_day=_any_of([_month_day_question(item) for item in month_day.split(",")]),
        weekday=_any_of([_weekday_question(item) for item in weekday.split(",")]),
        both_days_must_match=month_day.startswith("*") or weekday.startswith("*"),
        flowing=minute.startswith("*") or hour.startswith("*"),
    )
    if not _ever_comes(expression):
        raise Refused(text)
    return expression


def _any_of(questions: list[DayQuestion]) -> DayQuestion:
    return lambda day: any(question(day) for question in questions)


def _ever_comes(expression: Expression) -> bool:
    """Twenty-eight years hold every pairing of weekdays and dates."""
    first = date(2000, 1, 1)
    return any(expression.falls_on(first + timedelta(days=number)) for number in range(28 * 366))


def _month_day_question(item: str) -> DayQuestion:
    if item == "L":
        return lambda day: day.day == _length(day)
    if item == "LW":
        return lambda day: day == _last_working_day(day)
    if item.upper().startswith("L-"):
        if not re.fullmatch("[0-9]{1,2}", item[2:]) or not 1 <= int(item[2:]) <= 30:
            raise Refused(item)
        before = timedelta(days=int(item[2:]))
        return lambda day: day + before == day.replace(day=_length(day))
    if item.endswith("W"):
        number = MONTH_DAY.number(item[:-1])
        return lambda day: number <= _length(day) and day == _nearest_working_day(day.replace(day=number))
    values = MONTH_DAY.values(item)
    return lambda day: day.day in values


def _weekday_question(item: str) -> DayQuestion:
    if "#" in item:
        name, _, position = item.partition("#")
        wanted = WEEKDAY.number(name) % 7
        if position.upper() == "L":
            return lambda day: _cron_weekday(day) == wanted and (day + timedelta(weeks=1)).month != day.month
        if position not in {"1", "2", "3", "4", "5"}:
            raise Refused(item)
        return lambda day: _cron_weekday(day) == wanted and (day.day - 1) // 7 + 1 == int(position)
    if item.endswith("L"):
        wanted = WEEKDAY.number(item[:-1]) % 7
        return lambda day: _cron_weekday(day) == wanted and day.day + 7 > _length(day)
    values = {value % 7 for value in WEEKDAY.values(item)}
    return lambda day: _cron_weekday(day) in values


def _cron_weekday(day: date) -> int:
    return day.isoweekday() % 7


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _is_working_day(day: date) -> bool:
    return day.isoweekday() <= 5


def _last_working_day(day: date) -> date:
    candidate = day.replace(day=_length(day))
    while not _is_working_day(candidate):
        candidate -= timedelta(days=1)
    return candidate


def _nearest_working_day(wished: date) -> date:
    """Monday to Friday nearest to a date, never in another month. Within a month two are never equally near."""
    month = [wished.replace(day=number) for number in range(1, _length(wished) + 1)]
    return min((day for day in month if _is_working_day(day)), key=lambda day: abs(day - wished))
