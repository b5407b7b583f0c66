"""Slow, literal implementation of RFC 5545: tests every day of every period."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import count

from horae.schedule.recurrence import Frequency, Rule, complete_rule

_ONE_DAY = timedelta(days=1)
_LENGTHS = {
    Frequency.DAILY: timedelta(days=1),
    Frequency.HOURLY: timedelta(hours=1),
    Frequency.MINUTELY: timedelta(minutes=1),
    Frequency.SECONDLY: timedelta(seconds=1),
}


def occurrences(rule: Rule, start: datetime, periods: int) -> Iterator[datetime]:
    """What the rule yields in its first so many periods, COUNT and UNTIL left aside."""
    told = complete_rule(rule, start)
    for number in range(periods):
        try:
            members = list(_members(told, start, number * rule.interval))
        except OverflowError:
            return
        yield from (each for each in _chosen(told, members) if each >= start)


def _chosen(rule: Rule, members: list[datetime]) -> list[datetime]:
    if not rule.by_set_position:
        return members
    size = len(members)
    indexes = {each - 1 if each > 0 else size + each for each in rule.by_set_position if abs(each) <= size}
    return [members[index] for index in sorted(indexes)]


def _members(rule: Rule, start: datetime, later: int) -> Iterator[datetime]:
    """The set of one period, BYSETPOS left aside."""
    if rule.freq in _LENGTHS:
        begin = _floor(rule, start) + _LENGTHS[rule.freq] * later
        if _allowed(rule, begin.date()):
            yield from _members_of_unit(rule, begin)
        return
    for day in _days_of_period(rule, start.date(), later):
        if _allowed(rule, day):
            yield from (datetime.combine(day, each) for each in _times(rule))


def _floor(rule: Rule, start: datetime) -> datetime:
    match rule.freq:
        case Frequency.DAILY:
            return start.replace(hour=0, minute=0, second=0)
        case Frequency.HOURLY:
            return start.replace(minute=0, second=0)
        case Frequency.MINUTELY:
            return start.replace(second=0)
        case _:
            return start


def _members_of_unit(rule: Rule, begin: datetime) -> Iterator[datetime]:
    """A day, hour, minute or second: what is coarser limits it, what is finer expands it."""
    if rule.freq is Frequency.DAILY:
        yield from (datetime.combine(begin.date(), each) for each in _times(rule))
        return
    if not _holds(rule.by_hour, begin.hour):
        return
    minutes = rule.by_minute if rule.freq is Frequency.HOURLY else (begin.minute,)
    seconds = rule.by_second if rule.freq is not Frequency.SECONDLY else (begin.second,)
    for minute in minutes:
        for second in seconds:
            if _holds(rule.by_minute, minute) and _holds(rule.by_second, second):
                yield begin.replace(minute=minute, second=second)


def _times(rule: Rule) -> Iterator[time]:
    for hour in rule.by_hour:
        for minute in rule.by_minute:
            yield from (time(hour, minute, second) for second in rule.by_second)


def _days_of_period(rule: Rule, start: date, later: int) -> Iterator[date]:
    if rule.freq is Frequency.WEEKLY:
        first = _week_begin(start, rule.wkst) + timedelta(weeks=later)
        return (first + timedelta(days=each) for each in range(7))
    if rule.freq is Frequency.MONTHLY:
        year, month = divmod(start.year * 12 + start.month - 1 + later, 12)
        first = _date(year, month + 1, 1)
        return (first + timedelta(days=each) for each in range(monthrange(year, month + 1)[1]))
    if rule.by_week_number:
        return _days_of_week_year(rule, _week_year(start, rule.wkst) + later)
    first = _date(start.year + later, 1, 1)
    return (first + timedelta(days=each) for each in range(365 + isleap(first.year)))


def _days_of_week_year(rule: Rule, year: int) -> Iterator[date]:
    day = _week_begin(_date(year, 1, 4), rule.wkst)
    days = []
    while _week_year(day, rule.wkst) == year:
        days.append(day)
        day += _ONE_DAY
    weeks = len(days) // 7
    for index, day in enumerate(days):
        week = index // 7
        if week + 1 in rule.by_week_number or week - weeks in rule.by_week_number:
            yield day


def _date(year: int, month: int, day: int) -> date:
    if year > 9999:
        raise OverflowError
    return date(year, month, day)


def _week_begin(day: date, wkst: int) -> date:
    return day - timedelta(days=(day.weekday() - wkst) % 7)


def _week_year(day: date, wkst: int) -> int:
    """A week belongs to the year that has most of it."""
    return (_week_begin(day, wkst) + timedelta(days=3)).year


def _allowed(rule: Rule, day: date) -> bool:
    year_length, month_length = 365 + isleap(day.year), monthrange(day.year, day.month)[1]
    year_day = day.timetuple().tm_yday
    return (
        _holds(rule.by_month, day.month)
        and _holds(rule.by_year_day, year_day, year_day - year_length - 1)
        and _holds(rule.by_month_day, day.day, day.day - month_length - 1)
        and (not rule.by_day or any(_is_nth(rule, day, weekday, nth) for weekday, nth in rule.by_day))
    )


def _holds(part: tuple[int, ...], *numbers: int) -> bool:
    return not part or any(number in part for number in numbers)


def _is_nth(rule: Rule, day: date, weekday: int, nth: int | None) -> bool:
    if nth is None or day.weekday() != weekday:
        return day.weekday() == weekday
    in_month = rule.freq is Frequency.MONTHLY or bool(rule.by_month)
    step = timedelta(weeks=1 if nth < 0 else -1)
    for number in count(1):  # walk week by week to the edge of the month or year
        other = day + step * number
        if (other.year, other.month if in_month else 0) != (day.year, day.month if in_month else 0):
            return number == abs(nth)
    raise AssertionError
