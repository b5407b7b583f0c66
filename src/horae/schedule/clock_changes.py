"""Which clock changes touch a schedule, and what each of them does to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..choices import Fold, Gap
from .rrule import CountedRule, ExceptionsRule
from .rules import Rule, WallRule
from .zones import DATE_LINE_JUMP, Segment

Effect = Literal["moved", "shifted", "dropped", "first", "last", "both", "flowing_gap", "flowing_fold"]


@dataclass(frozen=True, slots=True)
class ClockChange:
    """One change that some wall time of the schedule falls into."""

    instant: int
    effect: Effect
    wall: int  # the first wall time of the schedule that the change leaves out or shows twice
    before: int  # what the clock shows when it changes, and what it shows then
    after: int
    runs_at: int | None  # on the wall, where a time in a gap runs instead


def clock_changes(rule: Rule, after: int, until: int) -> Iterator[ClockChange]:
    """Those in (after, until], in seconds; none for schedules that know no wall clock."""
    while isinstance(rule, ExceptionsRule | CountedRule):
        rule = rule.rule
    if not isinstance(rule, WallRule) or rule.keeps_pace:
        return
    for segment in rule.zone.changes(after, until):
        touched = rule.pattern.next_local(_spot(segment).start - 1)
        if touched is not None and touched in _spot(segment):
            yield _told(rule, segment, touched)


def _spot(segment: Segment) -> range:
    """The wall times that the change leaves out, or shows twice."""
    return segment.gap if segment.jump > 0 else range(segment.local_start, segment.local_start - segment.jump)


def _told(rule: WallRule, segment: Segment, wall: int) -> ClockChange:
    effect = _fold_effect(rule) if segment.jump < 0 else _gap_effect(rule, segment)
    runs_at = {"moved": segment.local_start, "shifted": wall + segment.jump}.get(effect)
    before = segment.start + segment.offset - segment.jump
    return ClockChange(segment.start, effect, wall, before, segment.local_start, runs_at)


def _gap_effect(rule: WallRule, segment: Segment) -> Effect:
    if rule.flowing:
        return "flowing_gap"
    effects: dict[Gap, Effect] = {"next": "moved", "shift": "shifted", "skip": "dropped"}
    return "dropped" if segment.jump >= DATE_LINE_JUMP else effects[rule.gap]


def _fold_effect(rule: WallRule) -> Effect:
    effects: dict[Fold, Effect] = {"first": "first", "last": "last", "both": "both"}
    return "flowing_fold" if rule.flowing else effects[rule.fold]
