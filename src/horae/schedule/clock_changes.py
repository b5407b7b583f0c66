"""Daylight saving analysis: lists the clock changes that affect a schedule, and the effect of each."""

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
    """A clock change whose gap or fold contains a wall time of the schedule."""

    instant: int
    effect: Effect
    wall: int  # the first wall time of the schedule in the gap or fold
    before: int  # the wall time right before and right after the change
    after: int
    runs_at: int | None  # the wall time at which a time in a gap runs instead


def find_clock_changes(rule: Rule, after: int, until: int) -> Iterator[ClockChange]:
    """Yield the changes in (after, until], in seconds; none for schedules that are not tied to a wall clock."""
    while isinstance(rule, ExceptionsRule | CountedRule):
        rule = rule.rule
    if not isinstance(rule, WallRule) or rule.has_constant_pace:
        return
    for segment in rule.zone.changes(after, until):
        wall = rule.pattern.next_local(_affected_range(segment).start - 1)
        if wall is not None and wall in _affected_range(segment):
            yield _describe_change(rule, segment, wall)


def _affected_range(segment: Segment) -> range:
    """The wall times that the change skips (gap) or repeats (fold)."""
    return segment.gap if segment.jump > 0 else range(segment.local_start, segment.local_start - segment.jump)


def _describe_change(rule: WallRule, segment: Segment, wall: int) -> ClockChange:
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
