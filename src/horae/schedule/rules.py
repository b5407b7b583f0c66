"""Rules: what a schedule becomes once its zone is known. A rule answers "which instant comes next?" and keeps no state."""

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
    """Instants here are microseconds."""

    def after(self, instant: int) -> int | None:
        """The first occurrence strictly after `instant`."""

    def count(self, after: int, until: int) -> int | None:
        """How many lie in (after, until]; None when only walking can tell."""


class WallRule:
    """A pattern of wall times in a zone."""

    __slots__ = ("_clear_parts", "_flowing", "_pattern", "_starts", "_zone", "fold", "gap", "keeps_pace")

    def __init__(self, zone: Zone, pattern: WallPattern, gap: Gap, fold: Fold, *, flowing: bool) -> None:
        self._zone = zone
        self._pattern = pattern
        self._flowing = flowing
        self._starts = zone.table.starts
        self._clear_parts = zone.table.whole if flowing else zone.table.unambiguous
        self.keeps_pace = False  # whether the real time between fires stays the same, whatever the clock does
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
        found = self.next_second(instant // SECOND)
        return None if found is None else found * SECOND

    def next_second(self, after: int) -> int | None:
        """The same question in whole seconds, which is all that a wall pattern can tell apart."""
        offset, clear_from, clear_until = self._clear_parts[bisect_right(self._starts, after) - 1]
        if after < clear_from:
            return self.decide(after)
        local = self._pattern.next_local(after + offset)
        if local is not None and local - offset < clear_until:
            return local - offset
        return self.decide(after, (after + offset, local))

    def decide(self, after: int, known: tuple[int, int | None] | None = None) -> int | None:
        """The careful way, needed only near a clock change, and at the edges of the calendar."""
        after = max(after, _FIRST_SECOND - 1)
        found = self._zone.next_match(_asking_once(self._pattern.next_local, known), after, self.gap, self.fold)
        return found if found is not None and found <= _LAST_SECOND else None

    def count(self, after: int, until: int) -> int | None:
        """Counts whole stretches between clock changes at once, and walks only through what lies around them."""
        total, at, last = 0, after // SECOND, min(until // SECOND, _LAST_SECOND)
        for segment in self._zone.segments_from(at):
            clear_from, clear_until = self._clear(segment)
            total += self._walk(at, min(clear_from - 1, last))
            at = max(at, min(clear_from - 1, last))
            stop = min(clear_until - 1, last)
            counted = self._pattern.count_local(at + segment.offset + 1, stop + segment.offset)
            if counted is None:
                return None
            at = max(at, stop)
            end = min(segment.end - 1, last)
            total += counted + self._walk(at, end)
            at = max(at, end)
            if at >= last:
                break
        return total

    def _clear(self, segment: Segment) -> tuple[int, int]:
        if self._flowing:
            return segment.start, segment.end
        return segment.start + abs(segment.jump), segment.end + min(segment.next_jump, 0)

    def _walk(self, after: int, until: int) -> int:
        total = 0
        found = self.decide(after) if after < until else None
        while found is not None and found <= until:
            total += 1
            found = self.decide(found)
        return total


def _asking_once(next_local: NextLocal, known: tuple[int, int | None] | None) -> NextLocal:
    """The same question, remembering its last answer: from anywhere before that, it is the answer still.

    The careful way asks about one stretch of the wall from several sides, and for a rare rule each time is a search.
    """

    def ask(local: int) -> int | None:
        nonlocal known
        if known is None or local < known[0] or (known[1] is not None and local >= known[1]):
            known = (local, next_local(local))
        return known[1]

    return ask


class PeriodicRule(WallRule):
    """A wall rule that repeats by the minute, hour, day or week: one look-up in a small table is the answer."""

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
        self.keeps_pace = flowing and 3600 % self._period == 0

    def next_second(self, after: int) -> int | None:
        offset, clear_from, clear_until = self._clear_parts[bisect_right(self._starts, after) - 1]
        if after >= clear_from:
            phase = (after + offset) % self._period
            found = after - phase + self._offsets[bisect_right(self._offsets, phase)]
            if found < clear_until:
                return found
        return self.decide(after)


class StrideRule(PeriodicRule):
    """One fire in each period, which needs no table at all."""

    __slots__ = ()

    def next_second(self, after: int) -> int | None:
        offset, clear_from, clear_until = self._clear_parts[bisect_right(self._starts, after) - 1]
        if after >= clear_from:
            period = self._period
            upcoming = after + period - (after + offset - self._offsets[0]) % period
            if upcoming < clear_until:
                return upcoming
        return self.decide(after)


def repeating_rule(
    zone: Zone, pattern: WallPattern, gap: Gap, fold: Fold, table: tuple[int, tuple[int, ...]], *, flowing: bool
) -> PeriodicRule:
    made = StrideRule if len(table[1]) == 2 else PeriodicRule
    return made(zone, pattern, gap, fold, table, flowing=flowing)
