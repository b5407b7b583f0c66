"""Recurrence rules in English."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..recurrence import Frequency
from .english_words import MONTHS, WEEKDAYS, joined, ordinal
from .recurrence_parts import Told, runs, until_text

_UNITS: Final = {
    Frequency.YEARLY: "year",
    Frequency.MONTHLY: "month",
    Frequency.WEEKLY: "week",
    Frequency.DAILY: "day",
    Frequency.HOURLY: "hour",
    Frequency.MINUTELY: "minute",
    Frequency.SECONDLY: "second",
}
_WORDS: Final = {1: "first", 2: "second", 3: "third"}


def sentence(told: Told) -> str:
    main, limits = _DAYS.get(told.rule.freq, _stride)(told)
    return ", ".join([f"{main}{_times(told)}", *(f"only {limit}" for limit in limits), *_endings(told)])


def _every(told: Told) -> str:
    unit = _UNITS[told.rule.freq]
    return f"every {unit}" if told.rule.interval == 1 else f"every {told.rule.interval} {unit}s"


def _stride(told: Told) -> tuple[str, list[str]]:
    """DAILY and finer: every part about days, and the coarser times, can only limit."""
    rule, limits = told.rule, []
    if rule.flowing and rule.by_hour:
        limits.append(f"in {_numbers('hour', rule.by_hour)}")
    if rule.freq in (Frequency.MINUTELY, Frequency.SECONDLY) and rule.by_minute:
        limits.append(f"in {_numbers('minute', rule.by_minute)}")
    if rule.freq is Frequency.SECONDLY and rule.by_second:
        limits.append(f"at {_numbers('second', rule.by_second)}")
    return _every(told), [*limits, *_day_limits(told), *_month_limit(told)]


def _week(told: Told) -> tuple[str, list[str]]:
    days = f" on {joined(_weekday_names(told.plain_weekdays))}" if told.rule.by_day else ""
    return f"{_every(told)}{days}", _month_limit(told)


def _month(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    limits = _month_limit(told)
    if rule.by_month_day:
        days = joined(_month_days(rule.by_month_day))
        limits = [*_weekday_limit(told), *limits]
    elif rule.by_day:
        days = _weekdays(told)
    else:
        return _every(told), limits
    return (f"on {days} of every month" if rule.interval == 1 else f"{_every(told)} on {days}"), limits


def _year(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    if not rule.by_week_number and not rule.by_year_day and len(rule.by_month) == len(rule.by_month_day) == 1:
        (month,), (day,) = rule.by_month, rule.by_month_day
        if day > 0:
            return f"{_every(told)} on {day} {MONTHS[month - 1]}", _weekday_limit(told)
    days, limits = _year_days(told)
    place = ""
    if rule.by_week_number:
        place = f" in {joined(runs(rule.by_week_number, _week_number, lambda a, b: f'weeks {a} to {b}'))}"
        limits = [*limits, *_month_limit(told)]
    elif rule.by_month:
        place = f" in {joined(_month_names(rule.by_month))}"
    return f"{_every(told)}{place}{days}", limits


def _year_days(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    if rule.by_year_day:
        days = f" on {joined(_days_of_year(rule.by_year_day))} of the year"
        return days, [*_month_day_limit(told), *_weekday_limit(told)]
    if rule.by_month_day:
        each = "" if rule.by_month else " of every month"
        return f" on {joined(_month_days(rule.by_month_day))}{each}", _weekday_limit(told)
    if rule.by_week_number and rule.by_day:
        return f" on {joined(_weekday_names(told.plain_weekdays))}", []
    return (f" on {_weekdays(told)}" if rule.by_day else ""), []


def _day_limits(told: Told) -> list[str]:
    days = told.rule.by_year_day
    on_year_days = [f"on {joined(_days_of_year(days))} of the year"] if days else []
    return [*on_year_days, *_month_day_limit(told), *_weekday_limit(told)]


def _month_day_limit(told: Told) -> list[str]:
    days = told.rule.by_month_day
    return [f"on {joined(_month_days(days))} of the month"] if days else []


def _weekday_limit(told: Told) -> list[str]:
    if not told.rule.by_day:
        return []
    return [f"on {joined([*_weekday_names(told.plain_weekdays), *_numbered_weekdays(told)])}"]


def _month_limit(told: Told) -> list[str]:
    return [f"in {joined(_month_names(told.rule.by_month))}"] if told.rule.by_month else []


def _times(told: Told) -> str:
    rule = told.rule
    if told.times:
        return f" at {joined(told.times)}"
    found = []
    if rule.by_hour and not rule.flowing:
        found.append(_numbers("hour", rule.by_hour))
    if rule.by_minute and rule.freq not in (Frequency.MINUTELY, Frequency.SECONDLY):
        found.append(_numbers("minute", rule.by_minute))
    if told.seconds and rule.freq is not Frequency.SECONDLY:
        found.append(_numbers("second", told.seconds))
    return f" at {', '.join(found)}" if found else ""


def _endings(told: Told) -> list[str]:
    rule, found = told.rule, []
    if rule.by_set_position:
        found.append(f"of these only {joined(_positions(rule.by_set_position))} in each {_UNITS[rule.freq]}")
    if told.week_start_matters:
        found.append(f"with weeks starting on {WEEKDAYS[rule.wkst]}")
    if rule.count is not None:
        found.append("once" if rule.count == 1 else f"{rule.count} times")
    if rule.until is not None:
        word = "until" if isinstance(rule.until, datetime) else "through"
        found.append(f"{word} {until_text(rule.until)}")
    return found


def _positions(positions: Iterable[int]) -> list[str]:
    return runs(positions, lambda nth: f"the {_place(nth)}", lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}")


def _weekdays(told: Told) -> str:
    """Weekdays of a month or year: all of them, or the nth."""
    plain = _weekday_names(told.plain_weekdays)
    of_year = " of the year" if told.rule.freq is Frequency.YEARLY and not told.rule.by_month else ""
    numbered = [f"{each}{of_year}" for each in _numbered_weekdays(told)]
    if len(plain) == 1 and " to " in plain[0]:
        return joined([f"every day from {plain[0]}", *numbered])
    return joined([*(f"every {each}" for each in plain), *numbered])


def _weekday_names(weekdays: Iterable[int]) -> list[str]:
    return runs(weekdays, lambda day: WEEKDAYS[day], lambda a, b: f"{WEEKDAYS[a]} to {WEEKDAYS[b]}")


def _numbered_weekdays(told: Told) -> list[str]:
    return [f"the {_place(nth)} {WEEKDAYS[weekday]}" for nth, weekday in told.numbered_weekdays]


def _month_names(months: Iterable[int]) -> list[str]:
    return runs(months, lambda month: MONTHS[month - 1], lambda a, b: f"{MONTHS[a - 1]} to {MONTHS[b - 1]}")


def _month_days(days: Iterable[int]) -> list[str]:
    return runs(
        days,
        lambda day: f"the {ordinal(day)}" if day > 0 else f"the {_place(day)} day",
        lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}",
    )


def _days_of_year(days: Iterable[int]) -> list[str]:
    return runs(
        days,
        lambda day: f"day {day}" if day > 0 else f"the {_place(day)} day",
        lambda a, b: f"days {a} to {b}",
    )


def _week_number(week: int) -> str:
    return f"week {week}" if week > 0 else f"the {_place(week)} week"


def _numbers(noun: str, numbers: tuple[int, ...]) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"{noun}{plural} {joined(runs(numbers, str, lambda a, b: f'{a} to {b}'))}"


def _place(nth: int) -> str:
    if nth > 0:
        return _WORDS.get(nth) or ordinal(nth)
    return "last" if nth == -1 else f"{_WORDS.get(-nth) or ordinal(-nth)} to last"


_DAYS: Final = {Frequency.WEEKLY: _week, Frequency.MONTHLY: _month, Frequency.YEARLY: _year}
