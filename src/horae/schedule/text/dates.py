"""Named days (tomorrow, 24 December, Friday of next week) and the words of a moment; conversion to dates relative to today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple, TypeAlias

from ..refusals import refuse
from .clock_words import DayPart


@dataclass(frozen=True, slots=True)
class DaysAhead:
    """A number of days from today: tomorrow is 1, yesterday is -1."""

    days: int


@dataclass(frozen=True, slots=True)
class WeekdayAhead:
    """A weekday of this week or a later one; weeks begin on Monday."""

    weekday: int
    weeks: int


@dataclass(frozen=True, slots=True)
class ComingWeekday:
    """The first such weekday from today on, including today."""

    weekday: int


@dataclass(frozen=True, slots=True)
class LatestWeekday:
    """The last such weekday before today."""

    weekday: int


@dataclass(frozen=True, slots=True)
class DayOfMonthAhead:
    """A day of this month or another one: 本月25号 (0), 下个月1号 (1), in questions about the past 上个月25号 (-1)."""

    months: int
    day: int


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A day and month without a year: the next such day."""

    month: int
    day: int


NamedDay: TypeAlias = date | DaysAhead | WeekdayAhead | ComingWeekday | LatestWeekday | DayOfMonthAhead | MonthDay


class MomentWords(NamedTuple):
    """The parts of a moment that a grammar recognised: a day, a time or part of the day, an offset, a zone."""

    day: NamedDay | None
    at: time | None = None
    part: DayPart | None = None
    offset: timedelta | None = None
    zone: str | None = None


def to_date(day: NamedDay, today: date) -> date:
    match day:
        case DaysAhead(days=days):
            return today + timedelta(days=days)
        case WeekdayAhead(weekday=weekday, weeks=weeks):
            monday = today - timedelta(days=today.weekday())
            return monday + timedelta(days=weekday, weeks=weeks)
        case ComingWeekday(weekday=weekday):
            return today + timedelta(days=(weekday - today.weekday()) % 7)
        case LatestWeekday(weekday=weekday):
            return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
        case DayOfMonthAhead(months=months, day=number):
            later = today.year * 12 + today.month - 1 + months
            return make_date(later // 12, later % 12 + 1, number, None)
        case MonthDay():
            return _next_month_day(day, today)
        case _:
            return day


def _next_month_day(month_day: MonthDay, today: date) -> date:
    """The next such day from today on; 29 February is in the next leap year."""
    for year in range(today.year, today.year + 9):
        try:
            candidate = date(year, month_day.month, month_day.day)
        except ValueError:
            continue
        if candidate >= today:
            return candidate
    raise refuse("bad_moment", value=f"{month_day.month:02}-{month_day.day:02}")


def combine_moment(day: date, at: time, offset: timedelta | None) -> datetime:
    """The wall time, or with an offset the instant."""
    if offset is None:
        return datetime.combine(day, at)
    return datetime.combine(day, at, tzinfo=UTC) - offset


def make_date(year: int, month: int, day: int, place: int | None) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise refuse("bad_date", place, value=f"{year:04}-{month:02}-{day:02}") from None
