"""English descriptions of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from ...choices import Fold, Gap
from ..after import After
from ..calendar import Calendar, NthWeekday, On
from ..cron_fields import CronFields
from ..every import From
from ..recurrence import Rule
from .cron_english import describe_cron
from .moments import MONTHS, WEEKDAYS, describe_clock, duration_parts, group_ranges, join_with_and, ordinal
from .recurrence_english import describe_rule
from .recurrence_parts import RuleParts


class English:
    separator = ", "
    now = "now"
    skipped_count = "including skipped"
    list_separator = "; "

    def once(self, moment: str) -> str:
        return f"at {moment}"

    def every(self, interval: timedelta, since: From) -> str:
        return f"every {_describe_interval(interval)}" + (" after end" if since == "end" else "")

    def cron(self, fields: CronFields) -> str:
        return describe_cron(fields)

    def calendar(self, calendar: Calendar) -> str:
        return describe_calendar(calendar)

    def rule(self, rule: Rule, start: datetime | None) -> str:
        return describe_rule(RuleParts.of(rule, start))

    def after(self, after: After) -> str:
        word = " and " if after.mode == "all" else " or "
        return "after " + word.join(
            link.task if link.on == "succeeded" else f"{link.task} ({link.on})" for link in after.links
        )

    def pair(self, former: str, last: str) -> str:
        return f"{former} and {last}"

    def exclude(self, moments: Sequence[str]) -> str:
        return f"except {join_with_and(moments)}"

    def start(self, moment: str) -> str:
        return f"from {moment}"

    def end(self, moment: str, *, whole_day: bool) -> str:
        return f"{'through' if whole_day else 'until'} {moment}"

    def repeat(self, times: int) -> str:
        return f"{times} time{'s' if times > 1 else ''}"

    def jitter(self, length: timedelta) -> str:
        return f"with jitter up to {describe_duration(length)}"

    def gap(self, gap: Gap) -> str:
        return f"gap {gap}"

    def fold(self, fold: Fold) -> str:
        return f"fold {fold}"


def describe_duration(length: timedelta) -> str:
    units = ("hour", "minute", "second", "millisecond")
    parts = [f"{amount} {units[unit]}{'' if amount == '1' else 's'}" for amount, unit in duration_parts(length)]
    return " ".join(parts)


def _describe_interval(length: timedelta) -> str:
    text = describe_duration(length)
    return text.removeprefix("1 ") if text in ("1 hour", "1 minute", "1 second", "1 millisecond") else text


# --- calendar ----------------------------------------------------------------------------------------------------


def describe_calendar(calendar: Calendar) -> str:
    days = _describe_days(calendar)
    if calendar.hours is None or calendar.step is None:
        return f"{days} at {join_with_and([describe_clock(each) for each in calendar.at])}"
    window = f"every {_describe_interval(calendar.step)} between {describe_clock(calendar.hours.opens)} and {describe_clock(calendar.hours.closes)}"
    if calendar.hours.days:
        window += f" on {_describe_weekdays(calendar.hours.days)}"
    return window if days == "every day" else f"{days}, {window}"


def _describe_days(calendar: Calendar) -> str:
    months = f" in {_describe_months(calendar.months)}" if calendar.months else ""
    match calendar.unit:
        case "day":
            return ("every day" if calendar.every == 1 else f"every {calendar.every} days") + months
        case "week":
            weekdays = _describe_weekdays(cast("tuple[int, ...]", calendar.on))
            if calendar.every > 1:
                return f"every {calendar.every} weeks on {weekdays}{months}"
            return (weekdays if " to " in weekdays and "," not in weekdays else f"every {weekdays}") + months
        case "month":
            return _describe_month_days(calendar, months)
        case "year":
            years = "every year" if calendar.every == 1 else f"every {calendar.every} years"
            return f"{years} on {_describe_on_days(calendar.on)} of {_describe_months(calendar.months)}"


def _describe_month_days(calendar: Calendar, months: str) -> str:
    days = f"on {_describe_on_days(calendar.on)}"
    if calendar.every > 1:
        return f"{days} of every {calendar.every} months{months}"
    return f"{days} of every month{months}"


def _describe_on_days(on: Sequence[On]) -> str:
    """Name days first, then nth weekdays; next to nth weekdays, days are called days, so that they do not read as weekdays."""
    mixed = any(isinstance(each, NthWeekday) for each in on)
    numbers = sorted((each for each in on if isinstance(each, int)), key=lambda each: (each < 0, each))
    parts = [f"the {_describe_on_day(each, mixed=mixed)}" for each in numbers]
    parts += [f"the {_describe_nth(each.nth)} {WEEKDAYS[each.weekday]}" for each in on if isinstance(each, NthWeekday)]
    return join_with_and(parts)


def _describe_on_day(each: int, *, mixed: bool) -> str:
    if each < 0:
        return f"{_describe_nth(each)} day"
    return f"{ordinal(each)} day" if mixed else ordinal(each)


def _describe_nth(number: int) -> str:
    if number > 0:
        return ordinal(number)
    return "last" if number == -1 else f"{ordinal(-number)} to last"


def _describe_weekdays(weekdays: Sequence[int]) -> str:
    parts = []
    for first, last in group_ranges(list(weekdays)):
        if last - first >= 2:
            parts.append(f"{WEEKDAYS[first]} to {WEEKDAYS[last]}")
        else:
            parts.extend(WEEKDAYS[day] for day in range(first, last + 1))
    return join_with_and(parts)


def _describe_months(months: Sequence[int]) -> str:
    return join_with_and([MONTHS[month - 1] for month in months])
