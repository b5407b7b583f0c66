"""English for cron, field by field, from the fields as understood."""

from __future__ import annotations

from ..cron_fields import CronFields, Field
from .english_words import MONTHS, WEEKDAYS, joined, ordinal
from .moments import even_step, runs, whole_step

_MOST_TIMES = 6


def cron_core(fields: CronFields) -> str:
    times, days, months = _times(fields), _days(fields), _months(fields.month)
    if times.startswith("at ") and _listed(fields):
        said = f"{days} {times}"
    else:
        said = times if days == "every day" else f"{times}, {days}"
    return f"{said}, {months}" if months else said


def _listed(fields: CronFields) -> bool:
    return len(fields.second.values) * len(fields.minute.values) * len(fields.hour.values) <= _MOST_TIMES


# --- times -------------------------------------------------------------------------------------------------------


def _times(fields: CronFields) -> str:
    seconds, minutes, hours = (sorted(each.values) for each in (fields.second, fields.minute, fields.hour))
    if _listed(fields):
        return f"at {joined([_clock(h, m, s) for h in hours for m in minutes for s in seconds])}"
    parts = [] if seconds == [0] else [_second_part(fields.second)]
    if not (parts and len(minutes) == 60):
        parts.append(_minute_part(fields.minute))
    if len(hours) < 24:
        parts.append(f"{'of' if len(minutes) < 60 else 'in'} hour{'s' if len(hours) > 1 else ''} {_numbers(hours)}")
    elif len(minutes) < 60:
        parts.append("of every hour")
    return " ".join(parts)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _second_part(field: Field) -> str:
    step = whole_step(sorted(field.values), 60)
    if step is not None:
        return "every second" if step == 1 else f"every {step} seconds"
    return f"at second{'s' if len(field.values) > 1 else ''} {_numbers(sorted(field.values))} of"


def _minute_part(field: Field) -> str:
    step = whole_step(sorted(field.values), 60)
    if step is not None:
        return "every minute" if step == 1 else f"every {step} minutes"
    return f"at minute{'s' if len(field.values) > 1 else ''} {_numbers(sorted(field.values))}"


def _numbers(values: list[int]) -> str:
    if even_step(values):
        return f"{values[0]}, {values[1]}, {values[2]}, …, {values[-1]}"
    said: list[str] = []
    for first, last in runs(values):
        said += [f"{first} to {last}"] if last - first > 1 else [str(each) for each in range(first, last + 1)]
    return joined(said)


# --- days --------------------------------------------------------------------------------------------------------


def _days(fields: CronFields) -> str:
    by_day = None if _every_day(fields.day) else _day_part(fields.day)
    by_weekday = None if _every_weekday(fields.weekday) else _weekday_part(fields.weekday)
    if not fields.both_day_fields:
        # Either field is enough, so that one which matches every day makes the other one idle.
        return "every day" if by_day is None or by_weekday is None else f"{by_day} or {by_weekday}"
    if by_day is None and by_weekday is None:
        return "every day"
    if by_day is None or by_weekday is None:
        return str(by_day or by_weekday)
    return f"{by_day}, and only {by_weekday}"


def _every_day(field: Field) -> bool:
    return field.values == frozenset(range(1, 32))


def _every_weekday(field: Field) -> bool:
    return field.values == frozenset(range(7))


def _day_part(field: Field) -> str:
    said = [f"day{'s' if len(field.values) > 1 else ''} {_numbers(sorted(field.values))}"] if field.values else []
    said += [f"the weekday nearest to day {day}" for day in sorted(field.nearest_working)]
    if field.last_working:
        said.append("the last weekday")
    if field.last:
        said.append("the last day")
    return f"on {joined(said)} of the month"


def _weekday_part(field: Field) -> str:
    from_monday = sorted((weekday - 1) % 7 for weekday in field.values)
    said = [
        f"{WEEKDAYS[first]} to {WEEKDAYS[last]}"
        if last - first >= 2
        else joined([WEEKDAYS[day] for day in range(first, last + 1)])
        for first, last in runs(from_monday)
    ]
    said += [f"the {ordinal(nth)} {WEEKDAYS[(weekday - 1) % 7]} of the month" for weekday, nth in sorted(field.nth)]
    said += [f"the last {WEEKDAYS[(weekday - 1) % 7]} of the month" for weekday in sorted(field.last_weekdays)]
    return f"on {joined(said)}"


def _months(field: Field) -> str:
    if len(field.values) == 12:
        return ""
    return f"in {joined([MONTHS[first - 1] if first == last else f'{MONTHS[first - 1]} to {MONTHS[last - 1]}' for first, last in runs(sorted(field.values))])}"
