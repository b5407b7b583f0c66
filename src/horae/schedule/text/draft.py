"""Parser state of the schedule language: one slot per part of a schedule, each filled at most once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import time, timedelta
from typing import Any, Final, TypeAlias

from ...choices import Fold, Gap
from ..calendar import On
from ..calendar_days import Unit
from ..refusals import refuse
from ..value import Counting, Moment
from .dates import NamedDay


@dataclass(frozen=True, slots=True)
class NamedMoment:
    """A day with or without a time, or a time alone; an offset makes it an instant."""

    day: NamedDay | None
    at: time | None
    offset: timedelta | None = None
    place: int | None = None


Bound: TypeAlias = NamedMoment | Moment


@dataclass(frozen=True, slots=True)
class Period:
    """`every 2 weeks`."""

    every: int
    unit: Unit


@dataclass(slots=True)
class Draft:
    now: bool | None = None
    delay: timedelta | None = None
    lasting: timedelta | None = None
    interval: timedelta | None = None
    minutes_past: int | None = None
    after_end: bool | None = None
    period: Period | None = None
    weekdays: tuple[int, ...] | None = None
    month_days: tuple[On, ...] | None = None
    months: tuple[int, ...] | None = None
    quarterly: bool | None = None
    without: tuple[int, ...] | None = None  # weekdays left out
    window: tuple[time, time] | None = None
    window_days: tuple[int, ...] | None = None
    times: tuple[time, ...] | None = None
    day: NamedDay | None = None
    offset: timedelta | None = None
    start: Bound | None = None
    end: Bound | None = None
    repeat: int | None = None
    counting: Counting | None = None
    exclude: tuple[Moment, ...] | None = None
    jitter: timedelta | None = None
    gap: Gap | None = None
    fold: Fold | None = None
    zone: str | None = None
    recurring: bool | None = None  # "every" was said
    notes: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def put(self, slot: str, value: Any, place: int) -> None:
        """Fill a slot; a second, different value is refused."""
        current = getattr(self, slot)
        if current is not None and current != value:
            raise refuse("said_twice", place, what=slot_name(slot))
        setattr(self, slot, value)
        self.places.setdefault(slot, place)

    def place(self, *slots: str) -> int | None:
        return next((self.places[slot] for slot in slots if slot in self.places), None)

    def filled(self) -> frozenset[str]:
        unlisted = {"notes", "places"}
        return frozenset(
            each.name for each in fields(self) if each.name not in unlisted and getattr(self, each.name) is not None
        )


SLOT_NAMES: Final = {
    "times": "a time of day",
    "zone": "a zone",
    "day": "a day",
    "interval": "an interval",
    "period": "a period",
    "window": "a window of hours",
    "end": "an end",
    "start": "a start",
    "repeat": "a number of times",
    "months": "months",
    "month_days": "days of the month",
    "weekdays": "weekdays",
    "exclude": "dates left out",
    "offset": "an offset",
    "after_end": "after end",
    "without": "weekdays left out",
    "lasting": "how long",
    "minutes_past": "minutes past the hour",
    "window_days": "weekdays",
    "quarterly": "a quarter",
    "delay": "a delay",
    "now": "now",
}
SLOT_NAMES_ZH: Final = {
    "times": "时刻",
    "zone": "时区",
    "day": "日期",
    "interval": "间隔",
    "period": "周期",
    "window": "时间段",
    "end": "终点",
    "start": "起点",
    "repeat": "次数",
    "months": "月份",
    "month_days": "日",
    "weekdays": "星期",
    "exclude": "排除的日期",
    "offset": "时差",
    "after_end": "结束后",
    "without": "排除的星期",
    "lasting": "持续多久",
    "minutes_past": "分钟",
    "window_days": "星期",
    "quarterly": "季度",
    "delay": "多久以后",
    "now": "现在",
}


def slot_name(slot: str) -> tuple[str, str]:
    """The slot's name in English and Chinese, for a refusal."""
    return SLOT_NAMES.get(slot, slot), SLOT_NAMES_ZH.get(slot, slot)


ALWAYS_ALLOWED: Final = frozenset(
    {"start", "end", "lasting", "repeat", "counting", "jitter", "gap", "fold", "zone", "recurring"}
)
