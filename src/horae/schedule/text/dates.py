"""Days as people name them: tomorrow, 24 December, Friday of next week. They become dates once "today" is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

from ..refusals import refuse


@dataclass(frozen=True, slots=True)
class DaysAhead:
    """Today is 0, tomorrow is 1, yesterday is -1."""

    days: int


@dataclass(frozen=True, slots=True)
class WeekdayAhead:
    """A weekday of this week or a later one; weeks begin on Monday."""

    weekday: int
    weeks: int


@dataclass(frozen=True, slots=True)
class ComingWeekday:
    """The first such weekday from today on, today included."""

    weekday: int


@dataclass(frozen=True, slots=True)
class LatestWeekday:
    """The last such weekday before today."""

    weekday: int


@dataclass(frozen=True, slots=True)
class DayOfMonthAhead:
    """本月25号, 下个月1号; 上个月25号 where days that have passed may be named."""

    months: int
    day: int


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A day of the year without the year: the next one that comes."""

    month: int
    day: int


NamedDay: TypeAlias = date | DaysAhead | WeekdayAhead | ComingWeekday | LatestWeekday | DayOfMonthAhead | MonthDay


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
            return a_date(later // 12, later % 12 + 1, number, None)
        case MonthDay():
            return _next_month_day(day, today)
        case _:
            return day


def _next_month_day(wanted: MonthDay, today: date) -> date:
    """29 February waits for a leap year."""
    for year in range(today.year, today.year + 9):
        try:
            found = date(year, wanted.month, wanted.day)
        except ValueError:
            continue
        if found >= today:
            return found
    raise refuse("bad_moment", value=f"{wanted.month:02}-{wanted.day:02}")


def exact_moment(day: date, at: time, offset: timedelta | None) -> datetime:
    """Wall time, or with an offset an instant."""
    if offset is None:
        return datetime.combine(day, at)
    return datetime.combine(day, at, tzinfo=UTC) - offset


def a_date(year: int, month: int, day: int, place: int | None) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise refuse("bad_date", place, value=f"{year:04}-{month:02}-{day:02}") from None
