"""English descriptions of recurrence rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..recurrence import Frequency
from .moments import MONTHS, WEEKDAYS, join_with_and, ordinal
from .recurrence_parts import RuleParts, describe_ranges, format_until

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


def describe_rule(parts: RuleParts) -> str:
    main, limits = _DAYS.get(parts.rule.freq, _describe_daily_or_finer)(parts)
    return ", ".join(
        [f"{main}{_describe_times(parts)}", *(f"only {limit}" for limit in limits), *_describe_endings(parts)]
    )


def _describe_interval(parts: RuleParts) -> str:
    unit = _UNITS[parts.rule.freq]
    return f"every {unit}" if parts.rule.interval == 1 else f"every {parts.rule.interval} {unit}s"


def _describe_daily_or_finer(parts: RuleParts) -> tuple[str, list[str]]:
    """DAILY and finer: the parts about days, and the coarser times, are limits."""
    rule, limits = parts.rule, []
    if rule.flowing and rule.by_hour:
        limits.append(f"in {_list_numbers('hour', rule.by_hour)}")
    if rule.freq in (Frequency.MINUTELY, Frequency.SECONDLY) and rule.by_minute:
        limits.append(f"in {_list_numbers('minute', rule.by_minute)}")
    if rule.freq is Frequency.SECONDLY and rule.by_second:
        limits.append(f"at {_list_numbers('second', rule.by_second)}")
    return _describe_interval(parts), [*limits, *_describe_day_limits(parts), *_describe_month_limit(parts)]


def _describe_weekly(parts: RuleParts) -> tuple[str, list[str]]:
    days = f" on {join_with_and(_list_weekdays(parts.plain_weekdays))}" if parts.rule.by_day else ""
    return f"{_describe_interval(parts)}{days}", _describe_month_limit(parts)


def _describe_monthly(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    limits = _describe_month_limit(parts)
    if rule.by_month_day:
        days = join_with_and(_list_month_days(rule.by_month_day))
        limits = [*_describe_weekday_limit(parts), *limits]
    elif rule.by_day:
        days = _describe_weekdays(parts)
    else:
        return _describe_interval(parts), limits
    return (f"on {days} of every month" if rule.interval == 1 else f"{_describe_interval(parts)} on {days}"), limits


def _describe_yearly(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    if not rule.by_week_number and not rule.by_year_day and len(rule.by_month) == len(rule.by_month_day) == 1:
        (month,), (day,) = rule.by_month, rule.by_month_day
        if day > 0:
            return f"{_describe_interval(parts)} on {day} {MONTHS[month - 1]}", _describe_weekday_limit(parts)
    days, limits = _describe_year_days(parts)
    period = ""
    if rule.by_week_number:
        period = f" in {join_with_and(describe_ranges(rule.by_week_number, _format_week_number, lambda a, b: f'weeks {a} to {b}'))}"
        limits = [*limits, *_describe_month_limit(parts)]
    elif rule.by_month:
        period = f" in {join_with_and(_list_months(rule.by_month))}"
    return f"{_describe_interval(parts)}{period}{days}", limits


def _describe_year_days(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    if rule.by_year_day:
        days = f" on {join_with_and(_list_year_days(rule.by_year_day))} of the year"
        return days, [*_describe_month_day_limit(parts), *_describe_weekday_limit(parts)]
    if rule.by_month_day:
        each = "" if rule.by_month else " of every month"
        return f" on {join_with_and(_list_month_days(rule.by_month_day))}{each}", _describe_weekday_limit(parts)
    if rule.by_week_number and rule.by_day:
        return f" on {join_with_and(_list_weekdays(parts.plain_weekdays))}", []
    return (f" on {_describe_weekdays(parts)}" if rule.by_day else ""), []


def _describe_day_limits(parts: RuleParts) -> list[str]:
    days = parts.rule.by_year_day
    on_year_days = [f"on {join_with_and(_list_year_days(days))} of the year"] if days else []
    return [*on_year_days, *_describe_month_day_limit(parts), *_describe_weekday_limit(parts)]


def _describe_month_day_limit(parts: RuleParts) -> list[str]:
    days = parts.rule.by_month_day
    return [f"on {join_with_and(_list_month_days(days))} of the month"] if days else []


def _describe_weekday_limit(parts: RuleParts) -> list[str]:
    if not parts.rule.by_day:
        return []
    return [f"on {join_with_and([*_list_weekdays(parts.plain_weekdays), *_list_nth_weekdays(parts)])}"]


def _describe_month_limit(parts: RuleParts) -> list[str]:
    return [f"in {join_with_and(_list_months(parts.rule.by_month))}"] if parts.rule.by_month else []


def _describe_times(parts: RuleParts) -> str:
    rule = parts.rule
    if parts.times:
        return f" at {join_with_and(parts.times)}"
    phrases = []
    if rule.by_hour and not rule.flowing:
        phrases.append(_list_numbers("hour", rule.by_hour))
    if rule.by_minute and rule.freq not in (Frequency.MINUTELY, Frequency.SECONDLY):
        phrases.append(_list_numbers("minute", rule.by_minute))
    if parts.seconds and rule.freq is not Frequency.SECONDLY:
        phrases.append(_list_numbers("second", parts.seconds))
    return f" at {', '.join(phrases)}" if phrases else ""


def _describe_endings(parts: RuleParts) -> list[str]:
    rule, phrases = parts.rule, []
    if rule.by_set_position:
        phrases.append(
            f"of these only {join_with_and(_list_positions(rule.by_set_position))} in each {_UNITS[rule.freq]}"
        )
    if parts.week_start_matters:
        phrases.append(f"with weeks starting on {WEEKDAYS[rule.wkst]}")
    if rule.count is not None:
        phrases.append("once" if rule.count == 1 else f"{rule.count} times")
    if rule.until is not None:
        word = "until" if isinstance(rule.until, datetime) else "through"
        phrases.append(f"{word} {format_until(rule.until)}")
    return phrases


def _list_positions(positions: Iterable[int]) -> list[str]:
    return describe_ranges(
        positions, lambda nth: f"the {_format_ordinal(nth)}", lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}"
    )


def _describe_weekdays(parts: RuleParts) -> str:
    """Describe weekdays of a month or year: all of them, or the nth."""
    plain = _list_weekdays(parts.plain_weekdays)
    of_year = " of the year" if parts.rule.freq is Frequency.YEARLY and not parts.rule.by_month else ""
    numbered = [f"{each}{of_year}" for each in _list_nth_weekdays(parts)]
    if len(plain) == 1 and " to " in plain[0]:
        return join_with_and([f"every day from {plain[0]}", *numbered])
    return join_with_and([*(f"every {each}" for each in plain), *numbered])


def _list_weekdays(weekdays: Iterable[int]) -> list[str]:
    return describe_ranges(weekdays, lambda day: WEEKDAYS[day], lambda a, b: f"{WEEKDAYS[a]} to {WEEKDAYS[b]}")


def _list_nth_weekdays(parts: RuleParts) -> list[str]:
    return [f"the {_format_ordinal(nth)} {WEEKDAYS[weekday]}" for nth, weekday in parts.numbered_weekdays]


def _list_months(months: Iterable[int]) -> list[str]:
    return describe_ranges(months, lambda month: MONTHS[month - 1], lambda a, b: f"{MONTHS[a - 1]} to {MONTHS[b - 1]}")


def _list_month_days(days: Iterable[int]) -> list[str]:
    return describe_ranges(
        days,
        lambda day: f"the {ordinal(day)}" if day > 0 else f"the {_format_ordinal(day)} day",
        lambda a, b: f"the {ordinal(a)} to the {ordinal(b)}",
    )


def _list_year_days(days: Iterable[int]) -> list[str]:
    return describe_ranges(
        days,
        lambda day: f"day {day}" if day > 0 else f"the {_format_ordinal(day)} day",
        lambda a, b: f"days {a} to {b}",
    )


def _format_week_number(week: int) -> str:
    return f"week {week}" if week > 0 else f"the {_format_ordinal(week)} week"


def _list_numbers(noun: str, numbers: tuple[int, ...]) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"{noun}{plural} {join_with_and(describe_ranges(numbers, str, lambda a, b: f'{a} to {b}'))}"


def _format_ordinal(nth: int) -> str:
    if nth > 0:
        return _WORDS.get(nth) or ordinal(nth)
    return "last" if nth == -1 else f"{_WORDS.get(-nth) or ordinal(-nth)} to last"


_DAYS: Final = {
    Frequency.WEEKLY: _describe_weekly,
    Frequency.MONTHLY: _describe_monthly,
    Frequency.YEARLY: _describe_yearly,
}
