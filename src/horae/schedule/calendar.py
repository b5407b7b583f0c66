"""The `calendar` schedule: days, weeks, months or years, at times of day or in steps through a window of hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import ClassVar, Final, TypeAlias

from .calendar_days import CountedPeriods, ExcludingDates, OvernightPattern, Unit, month_mask
from .days import EVERY_MONTH, EVERY_WEEKDAY, Days, Weekly, day_number, make_monthly
from .instants import DAY, FIRST_INSTANT, SECOND, to_instant
from .refusals import refuse
from .rules import Rule, WallRule, make_periodic_rule
from .value import Past, Schedule, Setting, check_type, first_instant, is_wall
from .wall import DaysAndTimes, Times, WallPattern, make_times, periodic_offsets
from .zones import find_zone

UNIT_NAMES: Final[dict[str, tuple[str, str]]] = {
    "day": ("day", "天"),
    "week": ("week", "周"),
    "month": ("month", "月"),
    "year": ("year", "年"),
    "hours": ("window of hours", "时间段"),
}
MAX_PERIODS: Final = 1000
MAX_YEARS: Final = 400  # after 400 years the Gregorian calendar repeats
MAX_TIMES: Final = 1440
MAX_DATES: Final = 1000


@dataclass(frozen=True, slots=True, order=True)
class NthWeekday:
    """The nth such weekday of a month: 1 to 5, or -1 to -5 from the end. Monday is 0."""

    weekday: int
    nth: int

    def __post_init__(self) -> None:
        check_type("weekday", self.weekday, int, "a number from 0, Monday, to 6")
        check_type("nth", self.nth, int, "a number from 1 to 5, or from -1 to -5")


@dataclass(frozen=True, slots=True)
class Hours:
    """A window of the day, both ends included; one that ends before it begins runs past midnight."""

    opens: time
    closes: time
    days: tuple[int, ...] = ()  # weekdays on which the window begins; empty: all

    def __post_init__(self) -> None:
        for name in ("opens", "closes"):
            check_type(name, getattr(self, name), time, "a time of day")
        check_type("days", self.days, (tuple, list), "weekdays")
        for day in self.days:
            check_type("days", day, int, "a number from 0, Monday, to 6")


On: TypeAlias = int | NthWeekday


@dataclass(frozen=True, slots=True)
class Calendar(Schedule):
    """`on` holds weekdays (0 is Monday) for weeks; for months and years, days (negative from the end) or nth weekdays."""

    kind: ClassVar[str] = "calendar"
    unit: Unit = "day"
    every: int = 1
    on: tuple[On, ...] = ()
    months: tuple[int, ...] = ()
    at: tuple[time, ...] = ()
    hours: Hours | None = None
    step: timedelta | None = None
    exclude: tuple[date, ...] = ()

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("on", "months", "at", "exclude"):
            object.__setattr__(self, name, _sort_unique(getattr(self, name)))
        check_calendar(self)
        for name, value in _normalize(self).items():
            object.__setattr__(self, name, value)
        Schedule.__post_init__(self)

    @property
    def flowing(self) -> bool:
        return self.hours is not None

    def rule(self, setting: Setting, past: Past) -> Rule:
        origin = self._origin(setting, past) if self.every > 1 else 0
        return self.cached((setting, origin), partial(_make_rule, self, setting, origin))

    def _origin(self, setting: Setting, past: Past) -> int:
        """The local day number from which periods are counted: that of `start`, else of the anchor, so it never drifts."""
        zone = setting.require_zone()
        if self.start is None:
            instant = max(to_instant(past.anchor), FIRST_INSTANT) // SECOND
        elif is_wall(self.start):
            return day_number(date(self.start.year, self.start.month, self.start.day))
        else:
            instant = first_instant(self.start, find_zone("UTC")) // SECOND
        return (instant + zone.offset(instant)) // DAY


def _normalize(calendar: Calendar) -> dict[str, object]:
    """Field values to replace, so that schedules with the same meaning are equal values."""
    replacements: dict[str, object] = {}
    if len(calendar.months) == 12 and calendar.unit != "year":
        replacements["months"] = ()
    if calendar.unit == "week" and calendar.every == 1 and calendar.hours is None and len(calendar.on) == 7:
        replacements |= {"unit": "day", "on": ()}
    if calendar.hours is not None:
        replacements |= _normalize_hours(calendar, calendar.hours)
    return replacements


def _normalize_hours(calendar: Calendar, hours: Hours) -> dict[str, object]:
    days = tuple(sorted(set(hours.days)))
    replacements: dict[str, object] = {}
    if calendar.unit == "week":
        # A day has to be among both the weekdays of the schedule and those of the window.
        days = tuple(day for day in calendar.on if isinstance(day, int) and (not days or day in days))
        if calendar.every > 1:
            return {"on": days, "hours": Hours(hours.opens, hours.closes)}
        replacements = {"unit": "day", "on": ()}
    return replacements | {"hours": Hours(hours.opens, hours.closes, days if len(days) < 7 else ())}


def _make_rule(calendar: Calendar, setting: Setting, origin: int) -> Rule:
    zone = setting.require_zone()
    pattern = make_wall_pattern(calendar, origin)
    table = None
    if isinstance(pattern, DaysAndTimes) and isinstance(pattern.days, Weekly):
        table = periodic_offsets(pattern.days.weekdays, pattern.times)
    if table is None:
        return WallRule(zone, pattern, setting.gap, setting.fold, flowing=calendar.flowing)
    return make_periodic_rule(zone, pattern, setting.gap, setting.fold, table, flowing=calendar.flowing)


def make_wall_pattern(calendar: Calendar, origin: int) -> WallPattern:
    days = _matching_days(calendar)
    if days is None:
        raise refuse("never", expression=calendar.kind)
    if calendar.every > 1:
        days = CountedPeriods(days, calendar.unit, calendar.every, origin)
    excluded = frozenset(day_number(each) for each in calendar.exclude)
    times, overnight = times_of_day(calendar)
    if overnight is not None:
        return OvernightPattern(days, times, overnight, excluded)
    return DaysAndTimes(ExcludingDates(days, excluded) if excluded else days, times)


def times_of_day(calendar: Calendar) -> tuple[Times, Times | None]:
    """The times on the day itself, and those of a window that continues after midnight (None: no such window)."""
    if calendar.hours is None:
        return make_times(_second_of_day(each) for each in calendar.at), None
    opens, closes = _second_of_day(calendar.hours.opens), _second_of_day(calendar.hours.closes)
    step = int((calendar.step or timedelta(days=1)).total_seconds())
    all_times = range(opens, closes + (DAY if closes < opens else 0) + 1, step)
    overnight = [each - DAY for each in all_times if each >= DAY]
    return make_times(each for each in all_times if each < DAY), make_times(overnight) if overnight else None


def _matching_days(calendar: Calendar) -> Days | None:
    window = calendar.hours.days if calendar.hours else ()
    weekdays = sum(1 << day for day in window) or EVERY_WEEKDAY
    months = sum(1 << month for month in calendar.months) or EVERY_MONTH
    if calendar.unit == "week":
        weekdays &= sum(1 << day for day in calendar.on if isinstance(day, int))
    if calendar.unit in ("day", "week"):
        if not weekdays:
            return None
        if months == EVERY_MONTH:
            return Weekly(weekdays)
    numbers = tuple(each for each in calendar.on if isinstance(each, int)) if calendar.unit in ("month", "year") else ()
    nths = tuple((each.weekday, each.nth) for each in calendar.on if isinstance(each, NthWeekday))
    return make_monthly(months, partial(month_mask, numbers, nths, weekdays))


def _second_of_day(at: time) -> int:
    return at.hour * 3600 + at.minute * 60 + at.second


def _sort_unique(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(sorted(set(values), key=lambda each: (isinstance(each, NthWeekday), each)))


def check_types(calendar: Calendar) -> None:
    """Check the types of all fields at run time, for callers without a type checker."""
    parts: dict[str, tuple[tuple[object, ...], type | tuple[type, ...]]] = {
        "on": (calendar.on, (int, NthWeekday)),
        "months": (calendar.months, int),
        "at": (calendar.at, time),
        "exclude": (calendar.exclude, date),
    }
    check_type("every", calendar.every, int, "a whole number")
    for name, (values, kind) in parts.items():
        check_type(name, values, (tuple, list), "a tuple")
        for each in values:
            check_type(name, each, kind, "a value of its own type")
    if calendar.hours is not None:
        check_type("hours", calendar.hours, Hours, "a window of hours")
    if calendar.step is not None:
        check_type("step", calendar.step, timedelta, "a duration")
    if any(isinstance(each, datetime) for each in calendar.exclude):
        raise refuse("bad_value", key="exclude", value=calendar.exclude, wanted="dates")


def check_calendar(calendar: Calendar) -> None:
    if calendar.unit not in ("day", "week", "month", "year"):
        raise refuse("bad_choice", name="unit", value=calendar.unit, allowed="day, week, month, year")
    most = MAX_YEARS if calendar.unit == "year" else MAX_PERIODS
    if not 1 <= calendar.every <= most:
        raise refuse("bad_every", value=calendar.every, most=most)
    if len(calendar.at) > MAX_TIMES or len(calendar.exclude) > MAX_DATES:
        raise refuse("too_many", times=MAX_TIMES, dates=MAX_DATES)
    if any(not 1 <= month <= 12 for month in calendar.months):
        raise refuse("bad_month", value=", ".join(map(str, calendar.months)))
    _check_on(calendar)
    _check_times(calendar)
    if _matching_days(calendar) is None:
        raise refuse("never", expression="calendar")


def _check_on(calendar: Calendar) -> None:
    if calendar.unit == "day" and calendar.on:
        raise refuse("on_needs_unit")
    if calendar.unit != "day" and not calendar.on:
        raise refuse("missing_on", unit=UNIT_NAMES[calendar.unit])
    if calendar.unit == "year" and not calendar.months:
        raise refuse("missing_months")
    for each in calendar.on:
        if isinstance(each, NthWeekday):
            is_valid = calendar.unit in ("month", "year") and 0 <= each.weekday <= 6 and 1 <= abs(each.nth) <= 5
        else:
            is_valid = 0 <= each <= 6 if calendar.unit == "week" else 1 <= abs(each) <= 31
        if not is_valid:
            raise refuse("bad_on", value=_format_on(each), unit=UNIT_NAMES[calendar.unit])


def _format_on(each: On) -> str:
    return f"weekday {each.weekday} number {each.nth}" if isinstance(each, NthWeekday) else str(each)


def _check_times(calendar: Calendar) -> None:
    if (calendar.hours is None) != (calendar.step is None) or (calendar.hours is not None and calendar.at):
        raise refuse("hours_and_step")
    if calendar.hours is None and not calendar.at:
        raise refuse("missing_time")
    for each in (*calendar.at, *((calendar.hours.opens, calendar.hours.closes) if calendar.hours else ())):
        if each.tzinfo is not None or each.microsecond:
            raise refuse("bad_time_of_day", value=each)
    if calendar.hours and calendar.hours.opens == calendar.hours.closes:
        raise refuse("empty_hours")
    if calendar.hours and any(not 0 <= day <= 6 for day in calendar.hours.days):
        raise refuse("bad_on", value=calendar.hours.days, unit=UNIT_NAMES["hours"])
    step = calendar.step
    if step is not None and (step.microseconds or not timedelta(seconds=1) <= step <= timedelta(days=1)):
        raise refuse("bad_step", value=step)
