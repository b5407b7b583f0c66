"""A cron expression as plain sets and questions about a wall time: the slow, obvious reading that the kit is derived from."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
SUNDAY, SUNDAY_AT_THE_END = 0, 7
FIRST_WEEKEND_DAY = 5  # of date.weekday(), where Monday is 0
MOST_WEEKS_IN_A_MONTH = 5

DayQuestion = Callable[[date], bool]


@dataclass(frozen=True, slots=True)
class Field:
    """What one field may hold: its smallest and largest number, the largest that `*` means, and its names."""

    low: int
    high: int
    star_high: int
    names: dict[str, int]


MINUTE = Field(0, 59, 59, {})
HOUR = Field(0, 23, 23, {})
DAY = Field(1, 31, 31, {})
DAYS_BEFORE_LAST = Field(1, 30, 30, {})
MONTH = Field(1, 12, 12, MONTHS)
WEEKDAY = Field(0, 7, 6, WEEKDAYS)


@dataclass(frozen=True, slots=True)
class Rule:
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    day: DayQuestion
    weekday: DayQuestion
    both_days: bool
    flowing: bool

    def matches_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = self.day(day), self.weekday(day)
        return by_month and by_week if self.both_days else by_month or by_week

    def matches(self, wall: datetime) -> bool:
        in_time = wall.second in self.seconds and wall.minute in self.minutes and wall.hour in self.hours
        return in_time and self.matches_day(wall.date())


def parse_rule(expression: str) -> Rule:
    """Raises ValueError for what the dialect refuses, except dates that never come."""
    parts = ALIASES.get(expression.strip(), expression).split()
    if len(parts) == len(("minute", "hour", "day", "month", "weekday")):
        parts = ["0", *parts]
    second, minute, hour, day, month, weekday = parts
    return Rule(
        seconds=_numbers(second, MINUTE),
        minutes=_numbers(minute, MINUTE),
        hours=_numbers(hour, HOUR),
        months=_numbers(month, MONTH),
        day=_any(_day_item(item) for item in day.split(",")),
        weekday=_any(_weekday_item(item) for item in weekday.split(",")),
        both_days=day.startswith("*") or weekday.startswith("*"),
        flowing=minute.startswith("*") or hour.startswith("*"),
    )


def parse_interval(expression: str) -> timedelta:
    parts = re.fullmatch(r"@every (?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", expression)
    hours, minutes, seconds = (int(part or 0) for part in parts.groups()) if parts else (0, 0, 0)
    if not hours + minutes + seconds:
        raise ValueError(expression)
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _numbers(text: str, field: Field) -> frozenset[int]:
    return frozenset(number for item in text.split(",") for number in _item(item, field))


def _item(item: str, field: Field) -> range:
    span, slash, step_text = item.partition("/")
    first, last = _span(span, field, open_ended=bool(slash))
    step = _digits(step_text) if slash else 1
    if last < first or (slash and not 1 <= step <= last - first):
        raise ValueError(item)
    return range(first, last + 1, step)


def _span(span: str, field: Field, *, open_ended: bool) -> tuple[int, int]:
    if span == "*":
        return field.low, field.star_high
    first, dash, last = span.partition("-")
    if not dash:
        return _number(first, field), field.high if open_ended else _number(first, field)
    if field is WEEKDAY and last.upper() == "SUN":
        return _number(first, field), SUNDAY_AT_THE_END
    return _number(first, field), _number(last, field)


def _number(text: str, field: Field) -> int:
    number = field.names.get(text.upper())
    number = _digits(text) if number is None else number
    if not field.low <= number <= field.high:
        raise ValueError(text)
    return number


def _digits(text: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", text):
        raise ValueError(text)
    return int(text)


def _any(questions: Iterable[DayQuestion]) -> DayQuestion:
    asked = list(questions)
    return lambda day: any(question(day) for question in asked)


def _day_item(item: str) -> DayQuestion:
    item = item.upper()
    if item == "L":
        return lambda day: day.day == _length(day)
    if item == "LW":
        return lambda day: day == _nearest_working_day(day.replace(day=_length(day)))
    if item.startswith("L-"):
        before = timedelta(days=_number(item[2:], DAYS_BEFORE_LAST))
        return lambda day: day + before == day.replace(day=_length(day))
    if item.endswith("W"):
        wanted = _number(item[:-1], DAY)
        return lambda day: wanted <= _length(day) and day == _nearest_working_day(day.replace(day=wanted))
    numbers = frozenset(_item(item, DAY))
    return lambda day: day.day in numbers


def _weekday_item(item: str) -> DayQuestion:
    if "#" in item:
        name, _, nth_text = item.partition("#")
        weekday = _number(name, WEEKDAY) % 7
        if nth_text.upper() == "L":
            return lambda day: _cron_weekday(day) == weekday and (day + timedelta(weeks=1)).month != day.month
        nth = _digits(nth_text)
        if not 1 <= nth <= MOST_WEEKS_IN_A_MONTH:
            raise ValueError(item)
        return lambda day: _cron_weekday(day) == weekday and (day.day - 1) // 7 == nth - 1
    if item.upper().endswith("L"):
        last = _number(item[:-1], WEEKDAY) % 7
        return lambda day: _cron_weekday(day) == last and day.day + 7 > _length(day)
    numbers = frozenset(number % 7 for number in _item(item, WEEKDAY))
    return lambda day: _cron_weekday(day) in numbers


def _nearest_working_day(day: date) -> date:
    """The nearest day from Monday to Friday within the same month."""
    near = (day + timedelta(days=shift) for shift in (0, -1, 1, -2, 2))
    return next(other for other in near if other.month == day.month and other.weekday() < FIRST_WEEKEND_DAY)


def _cron_weekday(day: date) -> int:
    return day.isoweekday() % 7


def _length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]
