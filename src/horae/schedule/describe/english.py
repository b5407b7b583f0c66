"""English sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, assert_never, cast

from ..calendar import Calendar, NthWeekday, On
from ..cron import Cron
from ..every import Every
from ..now import Now
from ..once import Once
from ..rrule import RRule
from ..value import Schedule
from .cron_english import cron_core
from .english_words import MONTHS, WEEKDAYS, joined, ordinal
from .moments import clock, moment, runs, wall_start, zone_word
from .recurrence import rule_sentence

SEPARATOR: Final = ", "


def core(schedule: Schedule) -> str:
    known = cast("Now | Once | Every | Cron | Calendar | RRule", schedule)
    match known:
        case Now():
            return "now"
        case Once():
            return f"at {moment(known.at, known.zone)}"
        case Every():
            return f"every {_interval(known.interval)}" + (" after end" if known.since == "end" else "")
        case Cron():
            return cron_core(known.fields)
        case Calendar():
            return calendar_core(known)
        case RRule():
            return rule_sentence(known.parsed, wall_start(known), "en")
        case _:
            assert_never(known)


def modifiers(schedule: Schedule) -> list[str]:
    said: list[str] = []
    exclude = getattr(schedule, "exclude", ())
    if exclude:
        said.append(f"except {joined([moment(each, schedule.zone) for each in exclude])}")
    if schedule.start is not None:
        said.append(f"from {moment(schedule.start, schedule.zone)}")
    if schedule.end is not None:
        whole_day = not hasattr(schedule.end, "hour")
        said.append(f"{'through' if whole_day else 'until'} {moment(schedule.end, schedule.zone)}")
    if schedule.repeat is not None:
        said.append(f"{schedule.repeat} time{'s' if schedule.repeat > 1 else ''}")
    if schedule.counting == "planned":
        said.append("including skipped")
    if schedule.jitter is not None:
        said.append(f"with jitter up to {duration(schedule.jitter)}")
    if schedule.gap is not None and not (isinstance(schedule, RRule) and schedule.gap == "skip"):
        said.append(f"gap {schedule.gap}")
    if schedule.fold is not None:
        said.append(f"fold {schedule.fold}")
    if schedule.zone is not None:
        said.append(zone_word(schedule.zone))
    return said


def duration(length: timedelta) -> str:
    """Hours are the largest unit, since "a day" would sound like the calendar's."""
    hours, rest = divmod(length.days * 86_400 + length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    if seconds and not hours and minutes == 1 and not fraction:
        minutes, seconds = 0, seconds + 60  # "90 seconds" reads better than "1 minute 30 seconds"
    parts = [(str(hours), "hour"), (str(minutes), "minute"), (f"{seconds}{fraction}", "second")]
    said = [f"{amount} {unit}{'' if amount == '1' else 's'}" for amount, unit in parts if amount != "0"]
    return " ".join(said)


def _interval(length: timedelta) -> str:
    said = duration(length)
    return said.removeprefix("1 ") if said in ("1 hour", "1 minute", "1 second") else said


# --- calendar ----------------------------------------------------------------------------------------------------


def calendar_core(calendar: Calendar) -> str:
    days = _days(calendar)
    if calendar.hours is None or calendar.step is None:
        return f"{days} at {joined([clock(each) for each in calendar.at])}"
    window = (
        f"every {_interval(calendar.step)} between {clock(calendar.hours.opens)} and {clock(calendar.hours.closes)}"
    )
    if calendar.hours.days:
        window += f" on {_weekdays(calendar.hours.days)}"
    return window if days == "every day" else f"{days}, {window}"


def _days(calendar: Calendar) -> str:
    months = f" in {_months(calendar.months)}" if calendar.months else ""
    match calendar.unit:
        case "day":
            return ("every day" if calendar.every == 1 else f"every {calendar.every} days") + months
        case "week":
            weekdays = _weekdays(cast("tuple[int, ...]", calendar.on))
            if calendar.every > 1:
                return f"every {calendar.every} weeks on {weekdays}{months}"
            return (weekdays if " to " in weekdays and "," not in weekdays else f"every {weekdays}") + months
        case "month":
            return _month_days(calendar, months)
        case "year":
            years = "every year" if calendar.every == 1 else f"every {calendar.every} years"
            return f"{years} on {_on_days(calendar.on)} of {_months(calendar.months)}"


def _month_days(calendar: Calendar, months: str) -> str:
    days = f"on {_on_days(calendar.on)}"
    if calendar.every > 1:
        return f"{days} of every {calendar.every} months{months}"
    return f"{days} of every month{months}"


def _on_days(on: Sequence[On]) -> str:
    """Days first, from the 1st to the last; beside nth weekdays they are called days, lest they count weekdays too."""
    mixed = any(isinstance(each, NthWeekday) for each in on)
    numbers = sorted((each for each in on if isinstance(each, int)), key=lambda each: (each < 0, each))
    said = [f"the {_on_day(each, mixed=mixed)}" for each in numbers]
    said += [f"the {_nth(each.nth)} {WEEKDAYS[each.weekday]}" for each in on if isinstance(each, NthWeekday)]
    return joined(said)


def _on_day(each: int, *, mixed: bool) -> str:
    if each < 0:
        return f"{_nth(each)} day"
    return f"{ordinal(each)} day" if mixed else ordinal(each)


def _nth(number: int) -> str:
    if number > 0:
        return ordinal(number)
    return "last" if number == -1 else f"{ordinal(-number)} to last"


def _weekdays(weekdays: Sequence[int]) -> str:
    said = []
    for first, last in runs(list(weekdays)):
        if last - first >= 2:
            said.append(f"{WEEKDAYS[first]} to {WEEKDAYS[last]}")
        else:
            said.extend(WEEKDAYS[day] for day in range(first, last + 1))
    return joined(said)


def _months(months: Sequence[int]) -> str:
    return joined([MONTHS[month - 1] for month in months])
