"""Rules: a schedule compiled for a known zone, which computes the next instant and keeps no state."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Protocol

from ..choices import Fold, Gap
from .instants import FIRST_INSTANT, LAST_INSTANT, SECOND
from .wall import WallPattern
from .zones import NextLocal, Segment, Zone

_FIRST_SECOND: Final = FIRST_INSTANT // SECOND
_LAST_SECOND: Final = LAST_INSTANT // SECOND


class Rule(Protocol):
    """Computes occurrences; instants are microseconds."""

    def after(self, instant: int) -> int | None:
        """The first occurrence strictly after `instant`."""

    def count(self, after: int, until: int) -> int | None:
        """Count the occurrences in (after, until]; None if only iterating can count them."""


class WallRule:
    """A pattern of wall times in a zone."""

    __slots__ = ("_clear_ranges", "_flowing", "_pattern", "_starts", "_zone", "fold", "gap", "has_constant_pace")

    def __init__(self, zone: Zone, pattern: WallPattern, gap: Gap, fold: Fold, *, flowing: bool) -> None:
        self._zone = zone
        self._pattern = pattern
        self._flowing = flowing
        self._starts = zone.table.starts
        self._clear_ranges = zone.table.whole if flowing else zone.table.unambiguous
        self.has_constant_pace = False  # whether the real time between fires is constant, whatever clock changes happen
        self.gap: Gap = "skip" if flowing else gap
        self.fold: Fold = "both" if flowing else fold

    @property
    def zone(self) -> Zone:
        return self._zone

    @property
    def pattern(self) -> WallPattern:
        return self._pattern

    @property
    def flowing(self) -> bool:
        return self._flowing

    def after(self, instant: int) -> int | None:
        second = self.next_second(instant // SECOND)
        return None if second is None else second * SECOND

    def next_second(self, after: int) -> int | None:
        """The first occurrence strictly after `after`, in whole seconds, the resolution of wall patterns."""
        offset, clear_from, clear_until = self._clear_ranges[bisect_right(self._starts, after) - 1]
        if after < clear_from:
            return self.next_second_slow(after)
        local = self._pattern.next_local(after + offset)
        if local is not None and local - offset < clear_until:
            return local - offset
        return self.next_second_slow(after, (after + offset, local))

    def next_second_slow(self, after: int, last_result: tuple[int, int | None] | None = None) -> int | None:
        """Compute the next second on the slow path, needed near clock changes and at the ends of the calendar."""
        after = max(after, _FIRST_SECOND - 1)
        second = self._zone.next_match(
            _cache_last_result(self._pattern.next_local, last_result), after, self.gap, self.fold
        )
        return second if second is not None and second <= _LAST_SECOND else None

    def count(self, after: int, until: int) -> int | None:
        """Count whole spans between clock changes at once; iterate only near the changes."""
        total, at, last = 0, after // SECOND, min(until // SECOND, _LAST_SECOND)
        for segment in self._zone.segments_from(at):
            clear_from, clear_until = self._clear_range(segment)
            total += self._count_by_iterating(at, min(clear_from - 1, last))
            at = max(at, min(clear_from - 1, last))
            stop = min(clear_until - 1, last)
            counted = self._pattern.count_local(at + segment.offset + 1, stop + segment.offset)
            if counted is None:
                return None
            at = max(at, stop)
            end = min(segment.end - 1, last)
            total += counted + self._count_by_iterating(at, end)
            at = max(at, end)
            if at >= last:
                break
        return total

    def _clear_range(self, segment: Segment) -> tuple[int, int]:
        if self._flowing:
            return segment.start, segment.end
        return segment.start + abs(segment.jump), segment.end + min(segment.next_jump, 0)

    def _count_by_iterating(self, after: int, until: int) -> int:
        total = 0
        second = self.next_second_slow(after) if after < until else None
        while second is not None and second <= until:
            total += 1
            second = self.next_second_slow(second)
        return total


def _cache_last_result(next_local: NextLocal, last_result: tuple[int, int | None] | None) -> NextLocal:
    """Wrap `next_local` with a cache of its last result, which holds for all arguments from the last one up to that result.

    The slow path queries one range of wall times repeatedly, and for a rare rule each call is a search.
    """

    def cached_next(local: int) -> int | None:
        nonlocal last_result
        if last_result is None or local < last_result[0] or (last_result[1] is not None and local >= last_result[1]):
            last_result = (local, next_local(local))
        return last_result[1]

    return cached_next


class PeriodicRule(WallRule):
    """A wall rule that repeats by the minute, hour, day or week: one bisection in a small table."""

    __slots__ = ("_offsets", "_period")

    def __init__(
        self,
        zone: Zone,
        pattern: WallPattern,
        gap: Gap,
        fold: Fold,
        table: tuple[int, tuple[int, ...]],
        *,
        flowing: bool,
    ) -> None:
        super().__init__(zone, pattern, gap, fold, flowing=flowing)
        self._period, self._offsets = table
        self.has_constant_pace = flowing and 3600 % self._period == 0

    @property
    def period(self) -> int:
        return self._period

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets within one period."""
        return self._offsets[:-1]

    def steady_until(self, second: int) -> tuple[bool, int]:
        """Whether the table alone decides after `second`, and the last second for which that stays so."""
        index = bisect_right(self._starts, second) - 1
        _, clear_from, clear_until = self._clear_ranges[index]
        if second < clear_from:
            return False, clear_from
        if second < clear_until - 1:
            return True, clear_until - 1
        return False, self._starts[index + 1] if index + 1 < len(self._starts) else _LAST_SECOND

    def next_second(self, after: int) -> int | None:
        offset, clear_from, clear_until = self._clear_ranges[bisect_right(self._starts, after) - 1]
        if after >= clear_from:
            phase = (after + offset) % self._period
            match = after - phase + self._offsets[bisect_right(self._offsets, phase)]
            if match < clear_until:
                return match
        return self.next_second_slow(after)

    def count(self, after: int, until: int) -> int | None:
        """Count by arithmetic where no clock change is near."""
        first, last = after // SECOND, until // SECOND
        offset, clear_from, clear_until = self._clear_ranges[bisect_right(self._starts, first) - 1]
        if clear_from <= first <= last < clear_until:
            return self._count_until(last + offset) - self._count_until(first + offset)
        return super().count(after, until)

    def _count_until(self, local: int) -> int:
        return count_offsets(self._offsets, self._period, local)


def count_offsets(offsets: tuple[int, ...], period: int, local: int) -> int:
    """Count the matches from 1970 to `local`; before it the number is negative, and differences are right there too."""
    periods, phase = divmod(local, period)
    # The last offset is the first one of the next period.
    size = len(offsets) - 1
    return periods * size + bisect_right(offsets, phase, 0, size)


class StrideRule(PeriodicRule):
    """A periodic rule with one fire per period: pure arithmetic, no table."""

    __slots__ = ()

    def next_second(self, after: int) -> int | None:
        offset, clear_from, clear_until = self._clear_ranges[bisect_right(self._starts, after) - 1]
        if after >= clear_from:
            period = self._period
            upcoming = after + period - (after + offset - self._offsets[0]) % period
            if upcoming < clear_until:
                return upcoming
        return self.next_second_slow(after)


def make_periodic_rule(
    zone: Zone, pattern: WallPattern, gap: Gap, fold: Fold, table: tuple[int, tuple[int, ...]], *, flowing: bool
) -> PeriodicRule:
    rule_class = StrideRule if len(table[1]) == 2 else PeriodicRule
    return rule_class(zone, pattern, gap, fold, table, flowing=flowing)
