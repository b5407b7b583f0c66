"""English descriptions of recurrence rules."""

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


def sentence(parts: Told) -> str:
    main, limits = _DAYS.get(parts.rule.freq, _stride)(parts)
    return ", ".join([f"{main}{_times(parts)}", *(f"only {limit}" for limit in limits), *_endings(parts)])


def _every(parts: Told) -> str:
    unit = _UNITS[parts.rule.freq]
    return f"every {unit}" if parts.rule.interval == 1 else f"every {parts.rule.interval} {unit}s"


def _stride(parts: Told) -> tuple[str, list[str]]:
    """DAILY and finer: the parts about days, and the coarser times, are limits."""
    rule, limits = parts.rule, []
    if rule.flowing and rule.by_hour:
        limits.append(f"in {_numbers('hour', rule.by_hour)}")
    if rule.freq in (Frequency.MINUTELY, Frequency.SECONDLY) and rule.by_minute:
        limits.append(f"in {_numbers('minute', rule.by_minute)}")
    if rule.freq is Frequency.SECONDLY and rule.by_second:
        limits.append(f"at {_numbers('second', rule.by_second)}")
    return _every(parts), [*limits, *_day_limits(parts), *_month_limit(parts)]


def _week(parts: Told) -> tuple[str, list[str]]:
    days = f" on {joined(_weekday_names(parts.plain_weekdays))}" if parts.rule.by_day else ""
    return f"{_every(parts)}{days}", _month_limit(parts)


def _month(parts: Told) -> tuple[str, list[str]]:
    rule = parts.rule
    limits = _month_limit(parts)
    if rule.by_month_day:
        days = joined(_month_days(rule.by_month_day))
        limits = [*_weekday_limit(parts), *limits]
    elif rule.by_day:
        days = _weekdays(parts)
    else:
        return _every(parts), limits
    return (f"on {days} of every month" if rule.interval == 1 else f"{_every(parts)} on {days}"), limits


def _year(parts: Told) -> tuple[str, list[str]]:
    rule = parts.rule
    if not rule.by_week_number and not rule.by_year_day and len(rule.by_month) == len(rule.by_month_day) == 1:
        (month,), (day,) = rule.by_month, rule.by_month_day
        if day > 0:
            return f"{_every(parts)} on {day} {MONTHS[month - 1]}", _weekday_limit(parts)
    days, limits = _year_days(parts)
    period = ""
    if rule.by_week_number:
        period = f" in {joined(runs(rule.by_week_number, _week_number, lambda a, b: f'weeks {a} to {b}'))}"
        limits = [*limits, *_month_limit(parts)]
    elif rule.by_month:
        period = f" in {joined(_month_names(rule.by_month))}"
    return f"{_every(parts)}{period}{days}", limits


def _year_days(parts: Told) -> tuple[str, list[str]]:
    rule = parts.rule
    if rule.by_year_day:
        days = f" on {joined(_days_of_year(rule.by_year_day))} of the year"
        return days, [*_month_day_limit(parts), *_weekday_limit(parts)]
    if rule.by_month_day:
        each = "" if rule.by_month else " of every month"
        return f" on {joined(_month_days(rule.by_month_day))}{each}", _weekday_limit(parts)
    if rule.by_week_number and rule.by_day:
        return f" on {joined(_weekday_names(parts.plain_weekdays))}", []
    return (f" on {_weekdays(parts)}" if rule.by_day else ""), []


def _day_limits(parts: Told) -> list[str]:
    days = parts.rule.by_year_day
    on_year_days = [f"on {joined(_days_of_year(days))} of the year"] if days else []
    return [*on_year_days, *_month_day_limit(parts), *_weekday_limit(parts)]


def _month_day_limit(parts: Told) -> list[str]:
    days = parts.rule.by_month_day
    return [f"on {joined(_month_days(days))} of the month"] if days else []


def _weekday_limit(parts: Told) -> list[str]:
    if not parts.rule.by_day:
        return []
    return [f"on {joined([*_weekday_names(parts.plain_weekdays), *_numbered_weekdays(parts)])}"]


def _month_limit(parts: Told) -> list[str]:
    return [f"in {joined(_month_names(parts.rule.by_month))}"] if parts.rule.by_month else []


def _times(parts: Told) -> str:
    rule = parts.rule
    if parts.times:
        return f" at {joined(parts.times)}"
    phrases = []
    if rule.by_hour and not rule.flowing:
        phrases.append(_numbers("hour", rule.by_hour))
    if rule.by_minute and rule.freq not in (Frequency.MINUTELY, Frequency.SECONDLY):
        phrases.append(_numbers("minute", rule.by_minute))
    if parts.seconds and rule.freq is not Frequency.SECONDLY:
        phrases.append(_numbers("second", parts.seconds))
    return f" at {', '.join(phrases)}" if phrases else ""


def _endings(parts: Told) -> list[str]:
    rule, phrases = parts.rule, []
    if rule.by_set_position:
        phrases.append(f"of these only {joined(_positions(rule.by_set_position))} in each {_UNITS[rule.freq]}")
    if parts.week_start_matters:
        phrases.append(f"with weeks starting on {WEEKDAYS[rule.wkst]}")
    if rule.count is not None:
        phrases.append("once" if rule.count == 1 else f"{rule.count} times")
    if rule.until is not None:
        word = "until" if isinstance(rule.until, datetime) else "through"
        phrases.append(f"{word} {until_text(rule.until)}")
    return phrases


def _positions(positions: Iterable[int]) -> list[str]:
    return runs(
        positions, lambda nth: f"the {_ordinal_word(nth)}", lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}"
    )


def _weekdays(parts: Told) -> str:
    """Describe weekdays of a month or year: all of them, or the nth."""
    plain = _weekday_names(parts.plain_weekdays)
    of_year = " of the year" if parts.rule.freq is Frequency.YEARLY and not parts.rule.by_month else ""
    numbered = [f"{each}{of_year}" for each in _numbered_weekdays(parts)]
    if len(plain) == 1 and " to " in plain[0]:
        return joined([f"every day from {plain[0]}", *numbered])
    return joined([*(f"every {each}" for each in plain), *numbered])


def _weekday_names(weekdays: Iterable[int]) -> list[str]:
    return runs(weekdays, lambda day: WEEKDAYS[day], lambda a, b: f"{WEEKDAYS[a]} to {WEEKDAYS[b]}")


def _numbered_weekdays(parts: Told) -> list[str]:
    return [f"the {_ordinal_word(nth)} {WEEKDAYS[weekday]}" for nth, weekday in parts.numbered_weekdays]


def _month_names(months: Iterable[int]) -> list[str]:
    return runs(months, lambda month: MONTHS[month - 1], lambda a, b: f"{MONTHS[a - 1]} to {MONTHS[b - 1]}")


def _month_days(days: Iterable[int]) -> list[str]:
    return runs(
        days,
        lambda day: f"the {ordinal(day)}" if day > 0 else f"the {_ordinal_word(day)} day",
        lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}",
    )


def _days_of_year(days: Iterable[int]) -> list[str]:
    return runs(
        days,
        lambda day: f"day {day}" if day > 0 else f"the {_ordinal_word(day)} day",
        lambda a, b: f"days {a} to {b}",
    )


def _week_number(week: int) -> str:
    return f"week {week}" if week > 0 else f"the {_ordinal_word(week)} week"


def _numbers(noun: str, numbers: tuple[int, ...]) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"{noun}{plural} {joined(runs(numbers, str, lambda a, b: f'{a} to {b}'))}"


def _ordinal_word(nth: int) -> str:
    if nth > 0:
        return _WORDS.get(nth) or ordinal(nth)
    return "last" if nth == -1 else f"{_WORDS.get(-nth) or ordinal(-nth)} to last"


_DAYS: Final = {Frequency.WEEKLY: _week, Frequency.MONTHLY: _month, Frequency.YEARLY: _year}
