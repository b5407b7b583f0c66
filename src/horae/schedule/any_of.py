"""The `any_of` schedule: a list of schedules that fires whenever one of them does; equal instants are one occurrence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

from ..choices import Language
from ..errors import InvalidSchedule, Sentence
from .after import After
from .calendar import Calendar
from .every import Every
from .once import Now, Once
from .refusals import refuse
from .rrule import RRule, refuse_endless_rule
from .rules import Rule
from .union_rule import UnionRule
from .value import Past, Schedule, Setting, check_type

MAX_SCHEDULES: Final = 16
UNION_MODIFIERS: Final = ("start", "end", "repeat", "counting", "jitter")
"""Modifiers of the whole list; zone, gap and fold of the list are defaults for its schedules."""
_DEFAULTS: Final = ("zone", "gap", "fold")


@dataclass(frozen=True, slots=True)
class AnyOf(Schedule):
    """A list in a list is flattened, and a schedule that occurs twice is kept once; at least two are left.

    The window, the repeat limit and the jitter belong to the list. Its zone, gap and fold apply to the schedules that
    have none. Every schedule is evaluated with the start of the list.
    """

    kind: ClassVar[str] = "any_of"
    schedules: tuple[Schedule, ...]

    def __post_init__(self) -> None:
        check_type("schedules", self.schedules, (tuple, list), "a list of schedules")
        parts = flatten(self.schedules)
        for name in _DEFAULTS:
            object.__setattr__(self, name, getattr(self, name) or _shared_value(parts, name))
        parts = [_without_defaults(part, {name: getattr(self, name) for name in _DEFAULTS}) for part in parts]
        object.__setattr__(self, "schedules", tuple(dict.fromkeys(parts)))
        if len(self.schedules) < 2:
            raise refuse("list_of_one")
        Schedule.__post_init__(self)
        _ = self.parts

    @property
    def parts(self) -> tuple[Schedule, ...]:
        """The schedules as they are evaluated: with the zone, gap, fold and start of the list."""
        return self.cached("parts", self._make_parts)

    def _make_parts(self) -> tuple[Schedule, ...]:
        completed = (part.with_defaults(self.zone, self.gap, self.fold) for part in self.schedules)
        return tuple(completed if self.start is None else (replace(part, start=self.start) for part in completed))

    def rule(self, setting: Setting, past: Past) -> Rule:
        anchor = past.anchor if self.cached("anchored", self._is_anchored) else None
        return self.cached((setting, anchor), partial(self._make_rule, setting, past))

    def _is_anchored(self) -> bool:
        """Whether the instant of creation moves its occurrences."""
        return any(_is_anchored(part) for part in self.parts)

    def _make_rule(self, setting: Setting, past: Past) -> UnionRule:
        return UnionRule(
            [part.rule(part.setting(setting.zone, setting.gap, setting.fold), past) for part in self.parts]
        )


def make_any_of(schedules: Iterable[Schedule], **modifiers: Any) -> Schedule:
    """The schedule of a list; a list of one schedule is that schedule, with the modifiers of the list."""
    parts = list(dict.fromkeys(flatten(schedules)))
    if len(parts) > 1:
        try:
            return AnyOf(tuple(parts), **modifiers)
        except InvalidSchedule as refusal:
            if refusal.code != "list_of_one":
                raise
    if not parts:
        raise refuse("list_empty")
    only = parts[0]
    missing = {name: value for name, value in modifiers.items() if name not in _DEFAULTS or getattr(only, name) is None}
    return replace(only, **missing)


def check_length(values: Sequence[object]) -> None:
    if len(values) > MAX_SCHEDULES:
        raise refuse("list_too_long", most=MAX_SCHEDULES)


def flatten(schedules: Iterable[Schedule]) -> list[Schedule]:
    """The schedules of a list, with those of lists in it; refuses what cannot be in a list, with its place."""
    found: list[Schedule] = []
    for number, schedule in enumerate(schedules):
        check_type("schedules", schedule, Schedule, "a list of schedules")
        for modifier in UNION_MODIFIERS:
            if getattr(schedule, modifier) not in (None, "run"):
                raise locate_in_list(refuse("list_modifier", key=modifier), number)
        if isinstance(schedule, Every) and schedule.since == "end":
            raise locate_in_list(refuse("list_from_end"), number)
        if isinstance(schedule, After):
            raise locate_in_list(refuse("after_in_list"), number)
        found += schedule.parts if isinstance(schedule, AnyOf) else (schedule,)
        check_length(found)
    return found


def parts_of(schedule: Schedule) -> tuple[Schedule, ...]:
    """The schedules of a list as they are evaluated; any other schedule alone."""
    return schedule.parts if isinstance(schedule, AnyOf) else (schedule,)


def refuse_if_endless(schedule: Schedule) -> None:
    """Refuse a requested FREQ=SECONDLY rule without an end, also in a list; stored ones stay readable."""
    for part in parts_of(schedule):
        refuse_endless_rule(part, schedule)


def locate_in_list(refusal: InvalidSchedule, number: int) -> InvalidSchedule:
    """The refusal of the schedule with this number in a list, counted from 0; the fact `pointer` is its path in the list."""
    english, chinese = refusal.in_language("en"), refusal.in_language("zh")
    sentences: dict[Language, Sentence] = {
        "en": Sentence(f"Schedule {number + 1} of the list: {english.message}", english.hint),
        "zh": Sentence(f"列表中的第 {number + 1} 条：{chinese.message}", chinese.hint),
    }
    facts = {**refusal.facts, "pointer": f"/{number}"}
    return InvalidSchedule(refusal.code, sentences, position=refusal.position, source=refusal.source, facts=facts)


@contextmanager
def pointers_below(key: str) -> Iterator[None]:
    """Put the path of the list before the path of a refused schedule in it."""
    try:
        yield
    except InvalidSchedule as refusal:
        if "pointer" in refusal.facts:
            refusal.facts["pointer"] = f"/{key}{refusal.facts['pointer']}"
        raise


# --- normal form -------------------------------------------------------------------------------------------------


def _is_on_wall_clock(schedule: Schedule) -> bool:
    """Whether a zone decides when it fires: an interval and an instant need none."""
    return not isinstance(schedule, Every | Now) and not (isinstance(schedule, Once) and schedule.at.tzinfo is not None)


def _has_own(schedule: Schedule, name: str) -> bool:
    """Whether it keeps a value of its own: a recurrence rule always has a gap."""
    return name == "gap" and isinstance(schedule, RRule)


def _shared_value(parts: Sequence[Schedule], name: str) -> Any:
    """The value that all schedules have in common, which is written once, for the list; else None."""
    concerned = [part for part in parts if _is_on_wall_clock(part) and not _has_own(part, name)]
    if name == "zone":
        concerned = concerned or list(parts)
    values = {getattr(part, name) for part in concerned}
    return values.pop() if len(values) == 1 else None


def _without_defaults(part: Schedule, defaults: Mapping[str, Any]) -> Schedule:
    """The schedule without what the list says, or what cannot matter to it."""
    dropped: dict[str, Any] = {
        name: None
        for name, value in defaults.items()
        if getattr(part, name) is not None
        and not _has_own(part, name)
        and (getattr(part, name) == value or not _is_on_wall_clock(part))
    }
    return replace(part, **dropped) if dropped else part


def _is_anchored(schedule: Schedule) -> bool:
    match schedule:
        case Now() | Once():
            return True
        case Every() | RRule():
            return schedule.start is None
        case Calendar():
            return schedule.start is None and schedule.every > 1
        case _:
            return False
