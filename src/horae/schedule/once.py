"""`once`: one instant, or one wall time in a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from .instants import SECOND, to_instant, wall_seconds
from .now import SingleRule
from .refusals import refuse
from .rules import Rule, WallRule
from .value import Past, Schedule, Setting, check_moment


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """`at` without an offset is wall time; with one it is an instant, and the zone only says how to show it."""

    kind: ClassVar[str] = "once"
    at: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime):
            raise refuse("bad_moment", value=self.at)
        check_moment(self.at)
        Schedule.__post_init__(self)

    def rule(self, setting: Setting, past: Past) -> Rule:
        """A time that has passed already is due at creation."""
        anchor = to_instant(past.anchor)
        return SingleRule(tuple(sorted({max(each, anchor) for each in self.instants(setting)})))

    def wall_rule(self, setting: Setting) -> Rule:
        """For asking what clock changes do to it; an instant knows no wall."""
        if self.at.tzinfo is not None:
            return SingleRule((to_instant(self.at),))
        return WallRule(
            setting.require_zone(), SingleWallTime(wall_seconds(self.at)), setting.gap, setting.fold, flowing=False
        )

    def instants(self, setting: Setting) -> list[int]:
        if self.at.tzinfo is not None:
            return [to_instant(self.at)]
        local = wall_seconds(self.at)
        return [each * SECOND + self._fraction(each, local, setting) for each in _meant(local, setting)]

    def _fraction(self, instant: int, local: int, setting: Setting) -> int:
        # What stands in for a time in a gap is the end of the gap itself, not some microseconds later.
        shown = instant + setting.require_zone().offset(instant)
        return self.at.microsecond if shown == local or setting.gap == "shift" else 0


@dataclass(frozen=True, slots=True)
class SingleWallTime:
    """One wall time as a pattern."""

    local: int

    def next_local(self, local: int) -> int | None:
        return self.local if local < self.local else None

    def count_local(self, first: int, last: int) -> int | None:
        return int(first <= self.local <= last)


def _meant(local: int, setting: Setting) -> list[int]:
    zone = setting.require_zone()
    found: list[int] = []
    after = local - 2 * 86_400
    pattern = SingleWallTime(local)
    while (each := zone.next_match(pattern.next_local, after, setting.gap, setting.fold)) is not None:
        found.append(each)
        after = each
    return found


def refuse_repeated_once(schedule: Schedule, place: int | None = None) -> None:
    """A number of times for what fires once: refused where a schedule is asked for. Stored ones stay readable."""
    if schedule.kind not in ("now", Once.kind) or schedule.repeat is None:
        return
    # With fold `both`, a time that comes twice is two occurrences.
    if schedule.repeat > (2 if schedule.fold == "both" else 1):
        raise refuse("repeats_once", place, number=schedule.repeat)
