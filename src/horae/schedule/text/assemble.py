"""Assembles a parsed draft into a schedule: decides its kind, and refuses drafts that are incomplete or contradictory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from ..calendar import UNIT_NAMES, Calendar, Hours
from ..cron import Cron
from ..every import Every
from ..instants import SECOND, to_datetime, to_instant, wall_reading
from ..once import Now, Once, refuse_repeated_once
from ..refusals import refuse
from ..value import Moment, Schedule
from ..zones import find_zone
from .dates import DayOfMonthAhead, DaysAhead, MonthDay, NamedDay, WeekdayAhead, combine_moment, to_date
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


def assemble(draft: Draft, zone: str | None, now: datetime, *, listed: bool = False) -> Assembled:
    """`listed`: a repeat limit belongs to the list that the schedule is in."""
    resolver = _MomentResolver(draft.zone or zone, now)
    schedule = _make_by_kind(draft, resolver)
    if not listed:
        refuse_repeated_once(schedule, draft.place("repeat"))
    return Assembled(schedule, resolver.uses_now)


def read_modifiers(draft: Draft, zone: str | None, now: datetime, *, exclude: bool) -> tuple[dict[str, Any], bool]:
    """The modifiers in a draft for a schedule whose kind is known; refuses everything else in the draft."""
    resolver = _MomentResolver(draft.zone or zone, now)
    modifiers = _make_modifiers(draft, resolver, *(["exclude"] if exclude else []))
    if draft.exclude:
        modifiers["exclude"] = draft.exclude
    return modifiers, resolver.uses_now


def _make_by_kind(draft: Draft, resolver: _MomentResolver) -> Schedule:
    if draft.now:
        return Now(**_make_modifiers(draft, resolver, "now"))
    if draft.delay is not None:
        return Once(resolver.after_delay(draft.delay), **_make_modifiers(draft, resolver, "delay"))
    if draft.minutes_past is not None:
        return _make_hourly(draft, resolver)
    if draft.interval is not None and draft.window is None and not _has_calendar_words(draft):
        modifiers = _make_modifiers(draft, resolver, "interval", "after_end")
        return Every(draft.interval, "end" if draft.after_end else "grid", **modifiers)
    if _has_calendar_words(draft) or draft.window is not None:
        return _make_calendar(draft, resolver)
    if draft.day is not None or draft.times is not None:
        return _make_once(draft, resolver)
    raise refuse("nothing_said", draft.place(*draft.filled()))


def _has_calendar_words(draft: Draft) -> bool:
    slots = (draft.period, draft.weekdays, draft.month_days, draft.months, draft.quarterly, draft.without)
    return any(each is not None for each in slots)


def _make_hourly(draft: Draft, resolver: _MomentResolver) -> Cron:
    """`every hour at :30` is tied to the clock, not to a grid, so it becomes cron."""
    modifiers = _make_modifiers(draft, resolver, "interval", "minutes_past")
    if draft.interval != timedelta(hours=1):
        raise refuse("minutes_past_what", draft.place("minutes_past"))
    return Cron(f"{draft.minutes_past} * * * *", **modifiers)


def _make_once(draft: Draft, resolver: _MomentResolver) -> Once:
    modifiers = _make_modifiers(draft, resolver, "day", "times", "offset")
    if draft.times is None:
        raise refuse("missing_time", draft.place("day"))
    if len(draft.times) > 1:
        raise refuse("one_time_only", draft.place("times"))
    if draft.recurring:
        raise refuse("every_what", draft.place("recurring"))
    return Once(resolver.at(draft.day, draft.times[0], draft.offset), **modifiers)


def _make_calendar(draft: Draft, resolver: _MomentResolver) -> Calendar:
    _resolve_days(draft)
    modifiers = _make_modifiers(draft, resolver, *_CALENDAR_SLOTS)
    unit, every = _find_unit(draft)
    on = draft.weekdays if unit == "week" else draft.month_days if unit in ("month", "year") else ()
    _check_days(draft, unit)
    return Calendar(
        unit=unit,
        every=every,
        on=on or (),
        months=draft.months or (),
        exclude=tuple(_require_date(each, draft) for each in draft.exclude or ()),
        **_make_times(draft, unit),
        **modifiers,
    )


def _require_date(moment: Moment, draft: Draft) -> date:
    if isinstance(moment, datetime):
        raise refuse("does_not_fit", draft.place("exclude"), what=slot_name("exclude"))
    return moment


def _resolve_days(draft: Draft) -> None:
    """Replace quarters by months and excluded weekdays by weekdays; give an interval on certain days the whole day as window."""
    if draft.quarterly:
        _resolve_quarter(draft)
    if draft.without is not None:
        _resolve_excluded_weekdays(draft, draft.without)
    if draft.interval is not None and draft.window is None and draft.weekdays and draft.times is None:
        draft.window = (time(0), time(23, 59, 59))


def _resolve_quarter(draft: Draft) -> None:
    """Days counted from the beginning are in a quarter's first month, days counted from the end in its last."""
    numbers = [day if isinstance(day, int) else day.nth for day in draft.month_days or ()]
    from_the_end = [number < 0 for number in numbers]
    if any(from_the_end) and not all(from_the_end):
        raise refuse("does_not_fit", draft.place("quarterly"), what=slot_name("quarterly"))
    draft.put("months", (3, 6, 9, 12) if any(from_the_end) else (1, 4, 7, 10), draft.places["quarterly"])
    draft.quarterly, draft.period = None, draft.period or Period(1, "month")


def _resolve_excluded_weekdays(draft: Draft, without: tuple[int, ...]) -> None:
    remaining = tuple(day for day in draft.weekdays or range(7) if day not in without)
    is_plain = draft.period in (None, Period(1, "day"), Period(1, "week"))
    if not remaining or not is_plain or draft.month_days:
        raise refuse("does_not_fit", draft.place("without"), what=slot_name("without"))
    draft.weekdays, draft.without, draft.period = remaining, None, None


def _find_unit(draft: Draft) -> tuple[Any, int]:
    if draft.period is not None:
        unit, every = draft.period.unit, draft.period.every
        # "every day on Monday" is a week; "every month in July" needs days, which the value itself requires.
        return ("week" if unit == "day" and every == 1 and draft.weekdays and draft.window is None else unit), every
    if draft.month_days is not None:
        return "month", 1
    return ("day" if draft.window is not None or draft.weekdays is None else "week"), 1


def _check_days(draft: Draft, unit: str) -> None:
    if unit in ("month", "year", "day") and draft.weekdays is not None and draft.window is None:
        raise refuse("mixed_days", draft.place("weekdays"), unit=UNIT_NAMES[unit])
    if unit in ("week", "day") and draft.month_days is not None:
        raise refuse("mixed_days", draft.place("month_days"), unit=UNIT_NAMES[unit])


def _make_times(draft: Draft, unit: str) -> dict[str, Any]:
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


def _make_modifiers(draft: Draft, resolver: _MomentResolver, *allowed: str) -> dict[str, Any]:
    extra = draft.filled() - set(allowed) - ALWAYS_ALLOWED
    if extra:
        slot = min(extra, key=lambda each: draft.places.get(each, 0))
        raise refuse("does_not_fit", draft.place(slot), what=slot_name(slot))
    end = None if draft.end is None else resolver.bound(draft.end, opens=False)
    if draft.lasting is not None:
        if end is not None or draft.start is not None:
            raise refuse("does_not_fit", draft.place("lasting"), what=slot_name("lasting"))
        end = resolver.after_delay(draft.lasting)
    modifiers = {
        "zone": resolver.zone,
        "start": None if draft.start is None else resolver.bound(draft.start, opens=True),
        "end": end,
        "repeat": draft.repeat,
        "counting": draft.counting,
        "jitter": draft.jitter,
        "gap": draft.gap,
        "fold": draft.fold,
    }
    return {name: value for name, value in modifiers.items() if value is not None}


class _MomentResolver:
    """Resolves named days and times to moments, and records whether the current time was needed."""

    def __init__(self, zone: str | None, now: datetime) -> None:
        self.zone = zone
        self._now = now
        self.uses_now = False

    def after_delay(self, delay: timedelta) -> datetime:
        self.uses_now = True
        return to_datetime(to_instant(self._now)) + delay

    def at(self, day: NamedDay | None, at: time, offset: timedelta | None) -> datetime:
        if offset is not None:
            if not isinstance(day, date):
                raise refuse("offset_without_date")
            return combine_moment(day, at, offset)
        if isinstance(day, date):
            return datetime.combine(day, at)
        day_date = to_date(day, self._today()) if day is not None else self._today()
        moment = datetime.combine(day_date, at)
        if moment <= self._wall_now() and (day is None or isinstance(day, MonthDay)):
            # A bare time, or a day without a year, means the next one.
            later = day_date + timedelta(days=1)
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
            # "from 08:00" sets the grid, even if that time of today has passed.
            return datetime.combine(self._today(), bound.at)
        return self.at(bound.day, bound.at, bound.offset)

    def _today(self) -> date:
        return self._wall_now().date()

    def _wall_now(self) -> datetime:
        self.uses_now = True
        if self.zone is None:
            raise refuse("zone_missing")
        second = to_instant(self._now) // SECOND
        return wall_reading(second + find_zone(self.zone).offset(second))
