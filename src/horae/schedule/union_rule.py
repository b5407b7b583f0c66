"""Rule of several schedules: merges the occurrences of its parts; equal instants are one occurrence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import lcm

from .every import GridRule
from .instants import LAST_INSTANT, SECOND
from .rules import PeriodicRule, Rule, count_offsets, make_periodic_rule
from .wall import MAX_OFFSETS, close_table


class UnionRule:
    """Parts that repeat alike are merged into one table first, so that most lists cost no more than one schedule."""

    __slots__ = ("rules",)

    def __init__(self, parts: Sequence[Rule]) -> None:
        self.rules: tuple[Rule, ...] = _merge_tables(parts)

    def after(self, instant: int) -> int | None:
        return min((each for rule in self.rules if (each := rule.after(instant)) is not None), default=None)

    def iterate(self, after: int) -> Iterator[int]:
        """Yield the occurrences after an instant in order; a step advances only the parts that have just fired."""
        upcoming = [(each, number) for number, rule in enumerate(self.rules) if (each := rule.after(after)) is not None]
        heapify(upcoming)
        while upcoming:
            instant = upcoming[0][0]
            yield instant
            fired: list[int] = []
            while upcoming and upcoming[0][0] == instant:
                fired.append(heappop(upcoming)[1])
            for number in fired:
                following = self.rules[number].after(instant)
                if following is not None:
                    heappush(upcoming, (following, number))

    def count(self, after: int, until: int) -> int | None:
        """Count the most frequent part by arithmetic; of the others only the occurrences that no denser part has."""
        counted: list[tuple[int, Rule]] = []
        for rule in self.rules:
            number = rule.count(after, until)
            if number is None:
                return None
            counted.append((number, rule))
        counted.sort(key=lambda each: each[0], reverse=True)
        total, denser = counted[0]
        known = [denser]
        for number, rule in counted[1:]:
            if number:
                total += number - _count_shared(rule, known, after, until)
                known.append(rule)
        return total


def _count_shared(rule: Rule, others: list[Rule], after: int, until: int) -> int:
    """Count the occurrences of a rule in (after, until] that one of the others has too.

    While all repeat, one common period is listed and multiplied; the rest is listed as it is.
    """
    shared = 0
    while after < until:
        period, end = _common_period((rule, *others), after)
        stop = min(until, max(end, after + 1))
        times = 0 if period is None else (stop - after) // period
        if period is not None and times > 1:
            shared += times * _list_shared(rule, others, after, after + period)
            after += times * period
        shared += _list_shared(rule, others, after, stop)
        after = stop
    return shared


def _common_period(rules: Sequence[Rule], after: int) -> tuple[int | None, int]:
    """The period after which all rules repeat, None if there is none, and the instant up to which that stays so."""
    found = [_find_period(rule, after) for rule in rules]
    periods = [period for period, _ in found if period is not None]
    return lcm(*periods) if len(periods) == len(found) else None, min(end for _, end in found)


def _find_period(rule: Rule, after: int) -> tuple[int | None, int]:
    match rule:
        case GridRule(first=first, interval=interval):
            return (interval, LAST_INSTANT) if after >= first - 1 else (None, first - 1)
        case GridTableRule(begin=begin, period=period):
            return (period, LAST_INSTANT) if after >= begin - 1 else (None, begin - 1)
        case PeriodicRule():
            is_steady, until = rule.steady_until(after // SECOND)
            return rule.period * SECOND if is_steady else None, until * SECOND
        case _:
            return None, LAST_INSTANT


def _list_shared(rule: Rule, others: list[Rule], after: int, until: int) -> int:
    shared, instant = 0, rule.after(after)
    while instant is not None and instant <= until:
        shared += any(each.after(instant - 1) == instant for each in others)
        instant = rule.after(instant)
    return shared


# --- tables ------------------------------------------------------------------------------------------------------


def _merge_tables(parts: Sequence[Rule]) -> tuple[Rule, ...]:
    """Merge periodic rules of one clock, and grids, where their common period is small enough to tabulate."""
    by_clock: dict[object, list[PeriodicRule]] = {}
    grids: list[GridRule] = []
    rest: list[Rule] = []
    for part in dict.fromkeys(parts):
        if isinstance(part, PeriodicRule):
            by_clock.setdefault((part.zone, part.gap, part.fold, part.flowing), []).append(part)
        elif isinstance(part, GridRule):
            grids.append(part)
        else:
            rest.append(part)
    return (*(rule for same in by_clock.values() for rule in _merge_periodic(same)), *_merge_grids(grids), *rest)


def _merge_periodic(rules: list[PeriodicRule]) -> Sequence[Rule]:
    """Merge rules whose periods all divide a week; the result repeats weekly or faster."""
    if len(rules) == 1:
        return rules
    period = lcm(*(rule.period for rule in rules))
    if sum(len(rule.offsets) * (period // rule.period) for rule in rules) > MAX_OFFSETS:
        return rules
    offsets = sorted({each for rule in rules for each in _spread(rule.offsets, rule.period, period)})
    table = close_table(period, offsets)
    first = rules[0]
    return [make_periodic_rule(first.zone, TablePattern(*table), first.gap, first.fold, table, flowing=first.flowing)]


def _merge_grids(grids: list[GridRule]) -> Sequence[Rule]:
    if len(grids) < 2:
        return grids
    period = lcm(*(grid.interval for grid in grids))
    if sum(period // grid.interval for grid in grids) > MAX_OFFSETS:
        return grids
    begin = max(grid.first for grid in grids)
    offsets = sorted(
        {each for grid in grids for each in _spread([(grid.first - begin) % grid.interval], grid.interval, period)}
    )
    early = sorted({each for grid in grids for each in range(grid.first, begin, grid.interval)})
    return [GridTableRule(begin, period, tuple(offsets), tuple(early))]


def _spread(offsets: Sequence[int], own_period: int, period: int) -> Iterator[int]:
    """Yield the offsets of a table within a longer period."""
    for begin in range(0, period, own_period):
        yield from ((begin + each) % period for each in offsets)


class TablePattern:
    """Wall times that repeat by a period; `offsets` end with the first one of the next period."""

    __slots__ = ("_offsets", "_period")

    def __init__(self, period: int, offsets: tuple[int, ...]) -> None:
        self._period = period
        self._offsets = offsets

    def next_local(self, local: int) -> int | None:
        phase = local % self._period
        return local - phase + self._offsets[bisect_right(self._offsets, phase)]

    def count_local(self, first: int, last: int) -> int | None:
        return self._count_until(last) - self._count_until(first - 1) if first <= last else 0

    def _count_until(self, local: int) -> int:
        return count_offsets(self._offsets, self._period, local)


@dataclass(frozen=True, slots=True)
class GridTableRule:
    """Several grids: the instants before `begin`, at which the last grid starts, then a table that repeats by a period."""

    begin: int
    period: int
    offsets: tuple[int, ...]
    early: tuple[int, ...]

    def after(self, instant: int) -> int | None:
        index = bisect_right(self.early, instant)
        if index < len(self.early):
            return self.early[index]
        periods, phase = divmod(max(instant, self.begin - 1) - self.begin, self.period)
        place = bisect_right(self.offsets, phase)
        following = self.offsets[place] if place < len(self.offsets) else self.offsets[0] + self.period
        return self.begin + periods * self.period + following

    def count(self, after: int, until: int) -> int | None:
        return self._count_until(until) - self._count_until(after) if until > after else 0

    def _count_until(self, instant: int) -> int:
        if instant < self.begin:
            return bisect_right(self.early, instant)
        periods, phase = divmod(instant - self.begin, self.period)
        return len(self.early) + periods * len(self.offsets) + bisect_right(self.offsets, phase)
