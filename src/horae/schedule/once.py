"""The one-time schedules: `now`, due when it is created, and `once`, one instant or one wall time in a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from .instants import SECOND, to_instant, wall_seconds
from .refusals import refuse
from .rules import Rule, WallRule
from .value import Past, Schedule, Setting, check_moment


@dataclass(frozen=True, slots=True)
class FixedInstantsRule:
    """A few known instants in order, usually one."""

    instants: tuple[int, ...]

    def after(self, instant: int) -> int | None:
        return next((each for each in self.instants if each > instant), None)

    def count(self, after: int, until: int) -> int | None:
        return sum(after < each <= until for each in self.instants)


@dataclass(frozen=True, slots=True)
class Now(Schedule):
    kind: ClassVar[str] = "now"

    def rule(self, setting: Setting, past: Past) -> Rule:  # noqa: ARG002 - independent of the zone
        return FixedInstantsRule((to_instant(past.anchor),))


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """`at` without an offset is wall time; with one it is an instant, and the zone is only used to show it."""

    kind: ClassVar[str] = "once"
    at: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime):
            raise refuse("bad_moment", value=self.at)
        check_moment(self.at)
        Schedule.__post_init__(self)

    def rule(self, setting: Setting, past: Past) -> Rule:
        """A time in the past is due at creation."""
        anchor = to_instant(past.anchor)
        return FixedInstantsRule(tuple(sorted({max(each, anchor) for each in self.instants(setting)})))

    def wall_rule(self, setting: Setting) -> Rule:
        """The rule used to analyse clock changes; an instant has no wall time and is not affected."""
        if self.at.tzinfo is not None:
            return FixedInstantsRule((to_instant(self.at),))
        return WallRule(
            setting.require_zone(), SingleWallTime(wall_seconds(self.at)), setting.gap, setting.fold, flowing=False
        )

    def instants(self, setting: Setting) -> list[int]:
        if self.at.tzinfo is not None:
            return [to_instant(self.at)]
        local = wall_seconds(self.at)
        return [each * SECOND + self._fraction(each, local, setting) for each in _resolve_wall_time(local, setting)]

    def _fraction(self, instant: int, local: int, setting: Setting) -> int:
        # The replacement for a time in a gap is exactly the end of the gap, without the fraction.
        shown = instant + setting.require_zone().offset(instant)
        return self.at.microsecond if shown == local or setting.gap == "shift" else 0


@dataclass(frozen=True, slots=True)
class SingleWallTime:
    """A pattern of one wall time."""

    local: int

    def next_local(self, local: int) -> int | None:
        return self.local if local < self.local else None

    def count_local(self, first: int, last: int) -> int | None:
        return int(first <= self.local <= last)


def _resolve_wall_time(local: int, setting: Setting) -> list[int]:
    zone = setting.require_zone()
    found: list[int] = []
    after = local - 2 * 86_400
    pattern = SingleWallTime(local)
    while (each := zone.next_match(pattern.next_local, after, setting.gap, setting.fold)) is not None:
        found.append(each)
        after = each
    return found


def refuse_repeated_once(schedule: Schedule, place: int | None = None) -> None:
    """Refuse a repeat limit on a requested one-time schedule; stored ones stay readable."""
    if schedule.kind not in ("now", Once.kind) or schedule.repeat is None:
        return
    # With fold `both`, a repeated wall time is two occurrences.
    if schedule.repeat > (2 if schedule.fold == "both" else 1):
        raise refuse("repeats_once", place, number=schedule.repeat)
