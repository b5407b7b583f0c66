"""Periods of the calendar in a zone: months of whole weeks from Monday, weeks and days, with their hours and clock changes."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from ..schedule.instants import SECOND, to_datetime, to_instant, wall_reading
from ..schedule.value import first_instant
from ..schedule.zones import find_zone

View: TypeAlias = Literal["month", "week", "day"]
VIEWS: Final[tuple[View, ...]] = ("month", "week", "day")
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_HOUR: Final = timedelta(hours=1)
_FIRST_YEAR: Final = 1971
_LAST_YEAR: Final = 9000


class Day(NamedTuple):
    """A date in a zone, from its first instant to that of the next date."""

    date: date
    since: datetime
    until: datetime

    @property
    def hours(self) -> tuple[datetime, ...]:
        """Begins of its hours of real time: 23 or 25 of them where the clock changes by an hour."""
        number = -((self.since - self.until) // _HOUR)
        return tuple(self.since + place * _HOUR for place in range(number))


class Change(NamedTuple):
    """A clock change of the zone: the instant, and what the wall clock shows before and after it."""

    at: datetime
    before: datetime
    after: datetime


class Period(NamedTuple):
    """Days that one page shows. `month` is the month of a month view: days of its weeks that belong to others are dimmed."""

    view: View
    zone: str
    chosen: date
    days: tuple[Day, ...]

    @property
    def since(self) -> datetime:
        return self.days[0].since

    @property
    def until(self) -> datetime:
        return self.days[-1].until

    @property
    def weeks(self) -> list[tuple[Day, ...]]:
        return [self.days[place : place + 7] for place in range(0, len(self.days), 7)]

    @property
    def previous(self) -> date:
        if self.view == "month":
            return (self.chosen.replace(day=1) - _DAY).replace(day=1)
        return self.chosen - (_WEEK if self.view == "week" else _DAY)

    @property
    def next(self) -> date:
        if self.view == "month":
            return (self.chosen.replace(day=28) + 4 * _DAY).replace(day=1)
        return self.chosen + (_WEEK if self.view == "week" else _DAY)


def parse_view(text: str | None) -> View:
    return text if text in VIEWS else "month"


def parse_day(text: str | None, today: date) -> date:
    """Return the date of a URL; today for anything that is none, or that is too far away."""
    try:
        day = today if text is None else date.fromisoformat(text)
    except ValueError:
        return today
    return day if _FIRST_YEAR <= day.year <= _LAST_YEAR else today


def make_period(view: View, zone: str, chosen: date) -> Period:
    if view == "day":
        first, number = chosen, 1
    elif view == "week":
        first, number = _monday(chosen), 7
    else:
        begin = chosen.replace(day=1)
        first = _monday(begin)
        last = (begin.replace(day=28) + 4 * _DAY).replace(day=1) - _DAY
        number = (_monday(last) - first).days + 7
    return Period(view, zone, chosen, tuple(make_day(zone, first + place * _DAY) for place in range(number)))


def make_day(zone: str, day: date) -> Day:
    place = find_zone(zone)
    since, until = (to_datetime(first_instant(each, place)) for each in (day, day + _DAY))
    return Day(day, since, until)


def find_changes(zone: str, since: datetime, until: datetime) -> tuple[Change, ...]:
    """Return the clock changes of a zone in [since, until)."""
    first, last = to_instant(since) // SECOND - 1, to_instant(until) // SECOND - 1
    return tuple(
        Change(
            to_datetime(each.start * SECOND),
            wall_reading(each.local_start - each.jump),
            wall_reading(each.local_start),
        )
        for each in find_zone(zone).changes(first, last)
        if each.jump
    )


def _monday(day: date) -> date:
    return day - day.weekday() * _DAY
