"""English descriptions of cron expressions, built from the parsed fields."""

from __future__ import annotations

from ..cron_fields import CronFields, Field
from .moments import MONTHS, WEEKDAYS, even_step, group_ranges, is_listed, join_with_and, ordinal, whole_step


def describe_cron(fields: CronFields) -> str:
    times, days, months = _describe_times(fields), _describe_days(fields), _describe_months(fields.month)
    if fields.is_one_date:
        day, month = min(fields.day.values), min(fields.month.values)
        return f"every year on {day} {MONTHS[month - 1]} {times}" if is_listed(fields) else f"{times}, {days}, {months}"
    text = f"{days} {times}" if is_listed(fields) else times if days == "every day" else f"{times}, {days}"
    return f"{text}, {months}" if months else text


# --- times -------------------------------------------------------------------------------------------------------


def _describe_times(fields: CronFields) -> str:
    seconds, minutes, hours = (sorted(each.values) for each in (fields.second, fields.minute, fields.hour))
    if is_listed(fields):
        return f"at {join_with_and([_format_clock(h, m, s) for h in hours for m in minutes for s in seconds])}"
    if seconds == [0]:
        return _describe_minutes(minutes, hours)
    step = whole_step(seconds, 60)
    if step is None:
        often = f"at second{'s' if len(seconds) > 1 else ''} {_list_numbers(seconds)}"
    else:
        often = "every second" if step == 1 else f"every {step} seconds"
    during = _list_minutes(minutes, hours)
    return often if during == "every minute" and step is not None else f"{often} of {during}"


def _list_minutes(minutes: list[int], hours: list[int]) -> str:
    """Name the minutes by number: seconds "of every 5 minutes" would include all five."""
    if len(minutes) == 60:
        return "every minute" + _describe_hours(hours)
    return f"minute{'s' if len(minutes) > 1 else ''} {_list_numbers(minutes)}" + (
        _describe_hours(hours) or " of every hour"
    )


def _describe_minutes(minutes: list[int], hours: list[int]) -> str:
    step = whole_step(minutes, 60)
    if step is not None:
        return ("every minute" if step == 1 else f"every {step} minutes") + _describe_hours(hours)
    if minutes == [0] and (hour_step := whole_step(hours, 24)) is not None and hour_step > 1:
        return f"every {hour_step} hours on the hour, from 00:00"
    return f"at {_list_minutes(minutes, hours)}"


def _describe_hours(hours: list[int]) -> str:
    return "" if len(hours) == 24 else f" of hour{'s' if len(hours) > 1 else ''} {_list_numbers(hours)}"


def _format_clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _list_numbers(values: list[int]) -> str:
    if even_step(values):
        return f"{values[0]}, {values[1]}, {values[2]}, …, {values[-1]}"
    parts: list[str] = []
    for first, last in group_ranges(values):
        parts += [f"{first} to {last}"] if last - first > 1 else [str(each) for each in range(first, last + 1)]
    return join_with_and(parts)


# --- days --------------------------------------------------------------------------------------------------------


def _describe_days(fields: CronFields) -> str:
    by_day = None if fields.day.values == frozenset(range(1, 32)) else _describe_month_days(fields.day)
    by_weekday = None if fields.weekday.values == frozenset(range(7)) else _describe_weekdays(fields.weekday)
    if not fields.both_day_fields:
        # Either field is enough: if one matches every day, the other has no effect.
        return "every day" if by_day is None or by_weekday is None else f"{by_day} or {by_weekday}"
    if by_day is None or by_weekday is None:
        return by_day or by_weekday or "every day"
    return f"{by_day}, and only {by_weekday}"


def _describe_month_days(field: Field) -> str:
    parts = [f"day{'s' if len(field.values) > 1 else ''} {_list_numbers(sorted(field.values))}"] if field.values else []
    parts += [f"the weekday nearest to day {day}" for day in sorted(field.nearest_working)]
    parts += [_describe_before_last(days) for days in sorted(field.before_last, reverse=True)]
    if field.last_working:
        parts.append("the last weekday")
    if field.last:
        parts.append("the last day")
    return f"on {join_with_and(parts)} of the month"


def _describe_before_last(days: int) -> str:
    return f"the day {days} days before the last" if days > 1 else "the day before the last"


def _describe_weekdays(field: Field) -> str:
    parts: list[str] = []
    for first, last in group_ranges(sorted((weekday - 1) % 7 for weekday in field.values)):
        is_range = last - first >= 2
        parts += [f"{WEEKDAYS[first]} to {WEEKDAYS[last]}"] if is_range else list(WEEKDAYS[first : last + 1])
    counted = [f"the {ordinal(nth)} {WEEKDAYS[(weekday - 1) % 7]}" for weekday, nth in sorted(field.nth)]
    counted += [f"the last {WEEKDAYS[(weekday - 1) % 7]}" for weekday in sorted(field.last_weekdays)]
    return f"on {join_with_and(parts + counted)}" + (" of the month" if counted else "")


def _describe_months(field: Field) -> str:
    if len(field.values) == 12:
        return ""
    parts: list[str] = []
    for first, last in group_ranges(sorted(field.values)):
        is_range = last - first >= 2
        parts += [f"{MONTHS[first - 1]} to {MONTHS[last - 1]}"] if is_range else list(MONTHS[first - 1 : last])
    return f"in {join_with_and(parts)}"
