"""Schedule evaluation: computes the next instant, iterates and counts occurrences, applies jitter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import islice, pairwise, takewhile
from typing import Final, TypeAlias

from ..choices import Fold, Gap
from .any_of import AnyOf
from .cron import Cron
from .every import Every
from .instants import DAY, EPOCH, FIRST_INSTANT, LAST_INSTANT, to_datetime, to_instant
from .once import Now, Once
from .refusals import refuse
from .rrule import RRule
from .rules import Rule
from .union_rule import UnionRule
from .value import Moment, Past, Schedule, Setting, check_choices, first_instant, is_wall, last_instant
from .zones import Zone, find_zone

_MICROSECOND: Final = timedelta(microseconds=1)
_DEFAULT_SETTING: Final[tuple[None, Gap, Fold]] = (None, "next", "first")
_from_seconds: Final = datetime.fromtimestamp


def next(schedule: Schedule, after: datetime, past: Past) -> datetime | None:  # noqa: A001 - the public name of this operation
    """The first planned instant strictly after `after`; None if none is left."""
    # Inlined cache look-up: this is the hottest call of the package.
    next_second = schedule._cache.get(_DEFAULT_SETTING)  # noqa: SLF001
    if next_second is None:
        if schedule.__class__ is Every and (following := schedule.next_on_grid(after, past.anchor)) is not None:
            return following
        next_second = find_fast_path(schedule, *_DEFAULT_SETTING)
    if next_second is None:
        return Occurrences(schedule, past, schedule.setting()).next(after, past.counted)
    try:
        elapsed = after - EPOCH
    except TypeError:
        raise refuse("naive_instant", moment=after) from None
    second = next_second(elapsed.days * DAY + elapsed.seconds)
    return None if second is None else _from_seconds(second, UTC)


def first(schedule: Schedule, past: Past) -> datetime | None:
    """The first occurrence of a task created at `past.anchor`: `now`, and a `once` in the past, are due at creation."""
    if schedule.__class__ is Once and schedule.at.tzinfo is not None and not schedule.is_bounded:
        # Fast path for tasks added in bulk: a single instant needs nothing else.
        return max(schedule.at, past.anchor).astimezone(UTC)
    if isinstance(schedule, AnyOf) and schedule.start is None:
        return _first_of_list(schedule, past)
    inclusive = isinstance(schedule, Now | Once | Every | RRule) or schedule.start is not None
    before = past.anchor - _MICROSECOND if inclusive and past.anchor.year > 1 else past.anchor
    return next(schedule, before, past)


def _first_of_list(schedule: AnyOf, past: Past) -> datetime | None:
    """The earliest first occurrence: whether the instant of creation itself counts depends on the kind of each part."""
    earliest = min((each for part in schedule.parts if (each := first(part, past)) is not None), default=None)
    if earliest is None:
        return None
    return Occurrences(schedule, past, schedule.setting()).next(earliest - _MICROSECOND, past.counted)


def iterate(schedule: Schedule, after: datetime, past: Past, *, until: datetime | None = None) -> Iterator[datetime]:
    """Yield every planned instant in (after, until], as if each one were given a run."""
    occurrences = Occurrences(schedule, past, schedule.setting())
    yield from occurrences.between(after, until, past.counted)


def count(schedule: Schedule, after: datetime, until: datetime, past: Past) -> int:
    """Count the planned instants in (after, until]; computed without iterating where the kind allows."""
    return Occurrences(schedule, past, schedule.setting()).count(after, until, past.counted)


def count_each(schedule: Schedule, bounds: Sequence[int], past: Past) -> list[int]:
    """Count the planned instants in each (bound, next bound], in microseconds, of a schedule without a repeat limit.

    The rule is built once, so that many short periods cost little more than their arithmetic.
    """
    return Occurrences(schedule, past, schedule.setting()).count_each(bounds)


def due(schedule: Schedule, planned: datetime, task_id: str, past: Past) -> datetime:
    """The instant at which a planned occurrence starts: planned plus jitter, one constant offset per task.

    The offset is a share of the jitter, or of the gap to the next occurrence where that is shorter, so that tasks stay
    spread out there too. Repeats and the end of the window are ignored, so that the result never changes later.
    """
    if schedule.jitter is None:
        return planned
    share = int.from_bytes(blake2b(task_id.encode(), digest_size=6).digest()) / 2**48
    following = schedule.rule(schedule.setting(), past).after(to_instant(planned))
    spread = schedule.jitter if following is None else min(schedule.jitter, to_datetime(following) - planned)
    return planned + spread * share


def advance(past: Past, fires: int = 1) -> Past:
    """The past after `fires` more counted occurrences."""
    return replace(past, counted=past.counted + fires)


# --- fast path: most calls are about a cron value without window or repeat ---------------------------------------

NextSecond: TypeAlias = Callable[[int], int | None]


def find_fast_path(schedule: Schedule, zone: str | None, gap: Gap, fold: Fold) -> NextSecond | None:
    """The next-second function of a cron value (cached) if only its pattern and zone matter; else None."""
    try:
        cached: NextSecond | None = schedule._cache.get((zone, gap, fold))  # noqa: SLF001 - the value's own cache
    except TypeError:
        cached = None  # an unhashable argument is refused below, by name
    if cached is not None or type(schedule) is not Cron or schedule.is_bounded:
        return cached
    check_choices(gap, fold)
    if zone is not None:
        find_zone(zone)
    rule = schedule.wall_rule(schedule.setting(zone, gap, fold))
    schedule.cached((zone, gap, fold), lambda: rule.next_second)
    return rule.next_second


def next_by_fast_path(next_second: NextSecond, after: datetime) -> datetime | None:
    try:
        since_epoch = after - EPOCH
    except TypeError:
        raise refuse("naive_instant", moment=after) from None
    second = next_second(since_epoch.days * DAY + since_epoch.seconds)
    return None if second is None else _from_seconds(second, UTC)


class Occurrences:
    """Evaluates a schedule in one setting, with its window and repeat limit."""

    __slots__ = ("_closes", "_opens", "_repeat", "_rule")

    def __init__(self, schedule: Schedule, past: Past, setting: Setting) -> None:
        self._rule: Rule = schedule.rule(setting, past)
        self._repeat = schedule.repeat
        self._opens = FIRST_INSTANT
        self._closes = LAST_INSTANT
        if schedule.start is not None:
            self._opens = max(self._opens, first_instant(schedule.start, _zone_for(schedule.start, setting)))
        if schedule.end is not None:
            self._closes = min(self._closes, last_instant(schedule.end, _zone_for(schedule.end, setting)))

    def next(self, after: datetime, counted: int = 0) -> datetime | None:
        if self._repeat is not None and counted >= self._repeat:
            return None
        occurrence = self._next_instant(to_instant(after))
        return None if occurrence is None else to_datetime(occurrence)

    def between(self, after: datetime, until: datetime | None, counted: int = 0) -> Iterator[datetime]:
        instant = to_instant(after)
        last = self._closes if until is None else min(self._closes, to_instant(until))
        if isinstance(self._rule, UnionRule):
            merged = takewhile(lambda each: each <= last, self._rule.iterate(max(instant, self._opens - 1)))
            limit = None if self._repeat is None else max(0, self._repeat - counted)
            yield from map(to_datetime, islice(merged, limit))
            return
        while self._repeat is None or counted < self._repeat:
            occurrence = self._next_instant(instant)
            if occurrence is None or occurrence > last:
                return
            yield to_datetime(occurrence)
            instant = occurrence
            counted += 1

    def count(self, after: datetime, until: datetime, counted: int = 0) -> int:
        opens, closes = max(to_instant(after), self._opens - 1), min(to_instant(until), self._closes)
        total = self._rule.count(opens, closes) if opens < closes else 0
        if total is None:
            total = sum(1 for _ in self.between(after, until, counted))
        return total if self._repeat is None else max(0, min(total, self._repeat - counted))

    def count_each(self, bounds: Sequence[int]) -> list[int]:
        opens, closes, rule_count = self._opens - 1, self._closes, self._rule.count
        numbers = []
        for after, until in pairwise(bounds):
            first, last = max(after, opens), min(until, closes)
            number = rule_count(first, last) if first < last else 0
            if number is None:
                number = sum(1 for _ in self.between(to_datetime(first), to_datetime(last)))
            numbers.append(number)
        return numbers

    def _next_instant(self, after: int) -> int | None:
        occurrence = self._rule.after(max(after, self._opens - 1))
        return occurrence if occurrence is not None and occurrence <= self._closes else None


def _zone_for(moment: Moment, setting: Setting) -> Zone:
    return setting.require_zone() if is_wall(moment) else find_zone("UTC")
