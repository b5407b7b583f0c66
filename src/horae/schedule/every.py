"""The `every` schedule: a fixed interval of real time, on a grid from the start or counted from the end of the last run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, Literal

from .instants import to_instant
from .refusals import refuse
from .rules import Rule
from .value import Past, Schedule, Setting, check_type, first_instant, is_wall
from .zones import find_zone

From = Literal["grid", "end"]

MIN_INTERVAL: Final = timedelta(milliseconds=1)
MAX_INTERVAL: Final = timedelta(days=36_525)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLY: Final = datetime(2, 1, 1, tzinfo=UTC)
_FAR: Final = datetime(9_000, 1, 1, tzinfo=UTC)
"""An interval after it is still a datetime."""


def _after_on_grid(first: Any, interval: Any, instant: Any) -> Any:
    """Return the first instant of the grid after another one: numbers of microseconds, or datetimes and a timedelta."""
    if instant < first:
        return first
    return instant + interval - (instant - first) % interval


@dataclass(frozen=True, slots=True)
class GridRule:
    """The instants first, first + interval, first + 2 intervals, …"""

    first: int
    interval: int

    def after(self, instant: int) -> int | None:
        following: int = _after_on_grid(self.first, self.interval, instant)
        return following

    def count(self, after: int, until: int) -> int | None:
        return self._count_until(until) - self._count_until(after) if until > after else 0

    def _count_until(self, instant: int) -> int:
        return max(0, (instant - self.first) // self.interval + 1)


@dataclass(frozen=True, slots=True)
class Every(Schedule):
    """With `since="end"` a preview is an estimate: it assumes that each run ends when it begins."""

    kind: ClassVar[str] = "every"
    interval: timedelta
    since: From = "grid"

    def __post_init__(self) -> None:
        check_type("interval", self.interval, timedelta, "a duration")
        if not MIN_INTERVAL <= self.interval <= MAX_INTERVAL:
            raise refuse("bad_interval", value=self.interval)
        if self.since not in ("grid", "end"):
            raise refuse("bad_choice", name="from", value=self.since, allowed="grid, end")
        Schedule.__post_init__(self)

    def rule(self, setting: Setting, past: Past) -> Rule:
        interval = self.interval // _MICROSECOND
        if self.since == "end" and past.last_end is not None:
            return GridRule(to_instant(past.last_end) + interval, interval)
        if self.start is not None:
            zone = setting.require_zone() if is_wall(self.start) else find_zone("UTC")
            return GridRule(first_instant(self.start, zone), interval)
        return GridRule(to_instant(past.anchor) + interval, interval)

    def next_on_grid(self, after: datetime, anchor: datetime) -> datetime | None:
        """Return the next instant of a grid that begins with the creation of the task; None where the rule must be built: for
        a window, a repeat limit, another zone than UTC, and at the end of time."""
        if self.since != "grid" or self.start is not None or self.end is not None or self.repeat is not None:
            return None
        if after.tzinfo is not UTC or anchor.tzinfo is not UTC or not _EARLY < anchor < _FAR or after > _FAR:
            return None
        following: datetime = _after_on_grid(anchor + self.interval, self.interval, after)
        return following
