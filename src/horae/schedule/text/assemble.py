"""From a draft to a schedule: decides which kind was meant, and refuses what is incomplete, mixed up or ambiguous."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from ..calendar import UNIT_NAMES, Calendar, Hours
from ..cron import Cron
from ..every import Every
from ..instants import SECOND, to_datetime, to_instant, wall_reading
from ..now import Now
from ..once import Once, refuse_repeated_once
from ..refusals import refuse
from ..value import Moment, Schedule
from ..zones import find_zone
from .dates import DayOfMonthAhead, DaysAhead, MonthDay, NamedDay, WeekdayAhead, exact_moment, to_date
from .draft import ALWAYS_ALLOWED, Bound, Draft, NamedMoment, Period, slot_name

_CALENDAR_SLOTS: Final = (
    "period",
    "weekdays",
    "month_days",
    "months",
    "times",
    "exclude",
    "window",
    "window_days",
    "interval",
)


@dataclass(frozen=True, slots=True)
class Assembled:
    schedule: Schedule
    relative: bool


def assemble(draft: Draft, zone: str | None, now: datetime) -> Assembled:
    setting = _Moments(draft.zone or zone, now)
    schedule = _core(draft, setting)
    return Assembled(schedule, setting.asked_the_time)


def modifiers_of(draft: Draft, zone: str | None, now: datetime, *, exclude: bool) -> tuple[dict[str, Any], bool]:
    """For a schedule whose kind is known already: only the modifiers may be said."""
    setting = _Moments(draft.zone or zone, now)
    modifiers = _modifiers(draft, setting, *(["exclude"] if exclude else []))
    if draft.exclude:
        modifiers["exclude"] = draft.exclude
    return modifiers, setting.asked_the_time


def _core(draft: Draft, setting: _Moments) -> Schedule:
    schedule = _assembled(draft, setting)
    refuse_repeated_once(schedule, draft.place("repeat"))
    return schedule


def _assembled(draft: Draft, setting: _Moments) -> Schedule:
    if draft.now:
        return Now(**_modifiers(draft, setting, "now"))
    if draft.delay is not None:
        return Once(setting.in_a_while(draft.delay), **_modifiers(draft, setting, "delay"))
    if draft.minutes_past is not None:
        return _past_the_hour(draft, setting)
    if draft.interval is not None and draft.window is None and not _calendar_words(draft):
        modifiers = _modifiers(draft, setting, "interval", "after_end")
        return Every(draft.interval, "end" if draft.after_end else "grid", **modifiers)
    if _calendar_words(draft) or draft.window is not None:
        return _calendar(draft, setting)
    if draft.day is not None or draft.times is not None:
        return _once(draft, setting)
    raise refuse("nothing_said", draft.place(*draft.filled()))


def _calendar_words(draft: Draft) -> bool:
    said = (draft.period, draft.weekdays, draft.month_days, draft.months, draft.quarterly, draft.without)
    return any(each is not None for each in said)


def _past_the_hour(draft: Draft, setting: _Moments) -> Cron:
    """`every hour at :30` is on the clock, not on a grid of its own: cron says it best."""
    modifiers = _modifiers(draft, setting, "interval", "minutes_past")
    if draft.interval != timedelta(hours=1):
        raise refuse("minutes_past_what", draft.place("minutes_past"))
    return Cron(f"{draft.minutes_past} * * * *", **modifiers)


def _once(draft: Draft, setting: _Moments) -> Once:
    modifiers = _modifiers(draft, setting, "day", "times", "offset")
    if draft.times is None:
        raise refuse("missing_time", draft.place("day"))
    if len(draft.times) > 1:
        raise refuse("one_time_only", draft.place("times"))
    if draft.recurring:
        raise refuse("every_what", draft.place("recurring"))
    return Once(setting.at(draft.day, draft.times[0], draft.offset), **modifiers)


def _calendar(draft: Draft, setting: _Moments) -> Calendar:
    _settle_days(draft)
    modifiers = _modifiers(draft, setting, *_CALENDAR_SLOTS)
    unit, every = _unit(draft)
    on = draft.weekdays if unit == "week" else draft.month_days if unit in ("month", "year") else ()
    _check_days(draft, unit)
    return Calendar(
        unit=unit,
        every=every,
        on=on or (),
        months=draft.months or (),
        exclude=tuple(_whole_day(each, draft) for each in draft.exclude or ()),
        **_times(draft, unit),
        **modifiers,
    )


def _whole_day(moment: Moment, draft: Draft) -> date:
    if isinstance(moment, datetime):
        raise refuse("does_not_fit", draft.place("exclude"), what=slot_name("exclude"))
    return moment


def _settle_days(draft: Draft) -> None:
    """Quarters become months, weekdays left out become weekdays, an interval on certain days gets the whole day."""
    if draft.quarterly:
        _settle_quarter(draft)
    if draft.without is not None:
        _settle_without(draft, draft.without)
    if draft.interval is not None and draft.window is None and draft.weekdays and draft.times is None:
        draft.window = (time(0), time(23, 59, 59))


def _settle_quarter(draft: Draft) -> None:
    """What is counted from the beginning lies in a quarter's first month, what is counted from its end in the last."""
    numbers = [day if isinstance(day, int) else day.nth for day in draft.month_days or ()]
    from_the_end = [number < 0 for number in numbers]
    if any(from_the_end) and not all(from_the_end):
        raise refuse("does_not_fit", draft.place("quarterly"), what=slot_name("quarterly"))
    draft.put("months", (3, 6, 9, 12) if any(from_the_end) else (1, 4, 7, 10), draft.places["quarterly"])
    draft.quarterly, draft.period = None, draft.period or Period(1, "month")


def _settle_without(draft: Draft, without: tuple[int, ...]) -> None:
    kept = tuple(day for day in draft.weekdays or range(7) if day not in without)
    plain = draft.period in (None, Period(1, "day"), Period(1, "week"))
    if not kept or not plain or draft.month_days:
        raise refuse("does_not_fit", draft.place("without"), what=slot_name("without"))
    draft.weekdays, draft.without, draft.period = kept, None, None


def _unit(draft: Draft) -> tuple[Any, int]:
    if draft.period is not None:
        unit, every = draft.period.unit, draft.period.every
        # "every day on Monday" is a week; "every month in July" needs days, which the value itself asks for.
        return ("week" if unit == "day" and every == 1 and draft.weekdays and draft.window is None else unit), every
    if draft.month_days is not None:
        return "month", 1
    return ("day" if draft.window is not None or draft.weekdays is None else "week"), 1


def _check_days(draft: Draft, unit: str) -> None:
    if unit in ("month", "year", "day") and draft.weekdays is not None and draft.window is None:
        raise refuse("mixed_days", draft.place("weekdays"), unit=UNIT_NAMES[unit])
    if unit in ("week", "day") and draft.month_days is not None:
        raise refuse("mixed_days", draft.place("month_days"), unit=UNIT_NAMES[unit])


def _times(draft: Draft, unit: str) -> dict[str, Any]:
    if draft.window is None:
        if draft.interval is not None:
            raise refuse("interval_and_days", draft.place("interval"))
        if draft.times is None:
            raise refuse("missing_time", draft.place("period", "weekdays", "month_days", "months"))
        return {"at": draft.times}
    if draft.times is not None:
        raise refuse("said_twice", draft.place("times"), what=slot_name("times"))
    if draft.interval is None:
        raise refuse("window_without_step", draft.place("window"))
    days = draft.window_days or (draft.weekdays if unit != "week" else None) or ()
    return {"hours": Hours(*draft.window, tuple(sorted(days))), "step": draft.interval}


def _modifiers(draft: Draft, setting: _Moments, *allowed: str) -> dict[str, Any]:
    extra = draft.filled() - set(allowed) - ALWAYS_ALLOWED
    if extra:
        slot = min(extra, key=lambda each: draft.places.get(each, 0))
        raise refuse("does_not_fit", draft.place(slot), what=slot_name(slot))
    end = None if draft.end is None else setting.bound(draft.end, opens=False)
    if draft.lasting is not None:
        if end is not None or draft.start is not None:
            raise refuse("does_not_fit", draft.place("lasting"), what=slot_name("lasting"))
        end = setting.in_a_while(draft.lasting)
    given = {
        "zone": setting.zone,
        "start": None if draft.start is None else setting.bound(draft.start, opens=True),
        "end": end,
        "repeat": draft.repeat,
        "counting": draft.counting,
        "jitter": draft.jitter,
        "gap": draft.gap,
        "fold": draft.fold,
    }
    return {name: value for name, value in given.items() if value is not None}


class _Moments:
    """Turns named days and times into moments, and remembers whether that needed to know the time."""

    def __init__(self, zone: str | None, now: datetime) -> None:
        self.zone = zone
        self._now = now
        self.asked_the_time = False

    def in_a_while(self, delay: timedelta) -> datetime:
        self.asked_the_time = True
        return to_datetime(to_instant(self._now)) + delay

    def at(self, day: NamedDay | None, at: time, offset: timedelta | None) -> datetime:
        if offset is not None:
            if not isinstance(day, date):
                raise refuse("offset_without_date")
            return exact_moment(day, at, offset)
        if isinstance(day, date):
            return datetime.combine(day, at)
        found = to_date(day, self._today()) if day is not None else self._today()
        moment = datetime.combine(found, at)
        if moment <= self._wall_now() and (day is None or isinstance(day, MonthDay)):
            # A bare time, or a day without a year, means the next one that comes.
            later = found + timedelta(days=1)
            moment = datetime.combine(to_date(day, later) if day is not None else later, at)
        if moment <= self._wall_now() and isinstance(day, WeekdayAhead | DaysAhead | DayOfMonthAhead):
            days = 7 if isinstance(day, WeekdayAhead) else 1
            later = moment + timedelta(days=days)
            raise refuse("already_past", value=f"{moment:%Y-%m-%d %H:%M}", later=f"{later:%Y-%m-%d %H:%M}")
        return moment

    def bound(self, bound: Bound, *, opens: bool) -> Moment:
        if not isinstance(bound, NamedMoment):
            return bound
        if bound.at is None:
            return (
                to_date(bound.day, self._today())
                if bound.day is not None and not isinstance(bound.day, date)
                else bound.day or self._today()
            )
        if bound.day is None and opens:
            # "from 08:00" fixes the grid; whether today's has passed does not matter.
            return datetime.combine(self._today(), bound.at)
        return self.at(bound.day, bound.at, bound.offset)

    def _today(self) -> date:
        return self._wall_now().date()

    def _wall_now(self) -> datetime:
        self.asked_the_time = True
        if self.zone is None:
            raise refuse("zone_missing")
        second = to_instant(self._now) // SECOND
        return wall_reading(second + find_zone(self.zone).offset(second))
