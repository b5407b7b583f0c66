"""Time zone arithmetic: wall time to instants and back, with gaps and folds at clock changes.

A zone is a list of *segments*, spans of real time with one offset. A wall time between two segments lies in a *gap*;
one that two segments share lies in a *fold*. This covers changes of any size: half an hour, two hours, or a day over
the date line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from ..choices import Fold, Gap
from ..errors import InvalidSchedule
from .days import new_year
from .instants import FIRST_INSTANT, LAST_INSTANT, SECOND
from .refusals import refuse
from .tzif import History, read_history, zone_names

NextLocal = Callable[[int], int | None]

# A forward jump this long crosses the date line: the day it drops does not exist and is not replaced.
DATE_LINE_JUMP: Final = 3 * 3600
_DISTANT_PAST: Final = -(10**15)
_TWO_DAYS: Final = 2 * 86_400
# The calendar repeats after 400 years: a pattern without a match by then has none, and clock changes repeat.
CYCLE: Final = 146_097 * 86_400
_NEAR_YEAR: Final = 2100
_FAR_YEAR: Final = _NEAR_YEAR + 401
_CYCLE_BEGIN: Final = new_year(_NEAR_YEAR) * 86_400
_MIN_SIMILARITY: Final = 0.75
"""Minimum similarity of a suggested zone name."""
_LAST_CHANGE: Final = new_year(10_002) * 86_400


@dataclass(frozen=True, slots=True)
class Segment:
    """Real time from `start` until `end` (exclusive) with one offset; `jump` is the change of offset at its start."""

    start: int
    end: int
    offset: int
    jump: int
    next_jump: int

    @property
    def local_start(self) -> int:
        return self.start + self.offset

    @property
    def local_end(self) -> int:
        return self.end + self.offset

    def shown_from(self, fold: Fold) -> int:
        """The first wall time that counts here; with fold `first`, times already shown by the segment before are excluded."""
        return self.local_start - min(self.jump, 0) if fold == "first" else self.local_start

    def shown_until(self, fold: Fold) -> int:
        """The end of the wall times that count here; with fold `last`, times that the next segment repeats are excluded."""
        return self.local_end + min(self.next_jump, 0) if fold == "last" else self.local_end

    def shift(self, seconds: int) -> Segment:
        return Segment(self.start + seconds, self.end + seconds, self.offset, self.jump, self.next_jump)

    @property
    def gap(self) -> range:
        """The wall times that the change into this segment skipped."""
        return range(self.local_start - max(self.jump, 0), self.local_start)


@dataclass(frozen=True, slots=True)
class SegmentTable:
    """A zone's segments up to a year, with look-up tables for the fast path."""

    year: int
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]
    # (offset, from, until) of the instants where a wall time maps to one instant, so that no policy applies.
    unambiguous: tuple[tuple[int, int, int], ...]
    # The same for schedules that follow real time: the whole segment.
    whole: tuple[tuple[int, int, int], ...]


class Zone:
    """One IANA zone; compare zones by name.

    The near table covers usual dates; the far table, built on first use, covers a whole 400-year cycle of the calendar,
    which is repeated for later dates.
    """

    __slots__ = ("_far_table", "_history", "name", "table")

    def __init__(self, name: str, history: History) -> None:
        self.name = name
        self._history = history
        self.table = _build_table(history, _NEAR_YEAR)
        self._far_table: SegmentTable | None = None

    def segment(self, instant: int) -> Segment:
        return next(self.segments_from(instant))

    def segments_from(self, instant: int) -> Iterator[Segment]:
        """Yield the segment that contains `instant` and all later ones, to the end of the calendar."""
        near = self.table
        index = bisect_right(near.starts, instant) - 1
        # The last segment of a table may end after its horizon: the far table has its end.
        while index < len(near.segments) - 1:
            yield near.segments[index]
            index += 1
        if self._history.footer.saving is None:
            yield near.segments[-1]
            return
        yield from self._far_segments(max(instant, near.starts[-1]))

    def _far_segments(self, instant: int) -> Iterator[Segment]:
        if self._far_table is None:
            self._far_table = _build_table(self._history, _FAR_YEAR)
        starts, segments = self._far_table.starts, self._far_table.segments
        begin = bisect_right(
            starts, _CYCLE_BEGIN
        )  # index of the first change of the cycle, and the number of its changes
        length = bisect_right(starts, _CYCLE_BEGIN + CYCLE) - begin
        if length == 0:
            yield segments[-1]
            return
        cycles = max(0, (instant - _CYCLE_BEGIN) // CYCLE)
        index = bisect_right(starts, instant - cycles * CYCLE) - 1 + cycles * length
        while True:
            cycle, position = divmod(max(index - begin, 0), length)
            segment = segments[begin + position if index >= begin else index]
            if segment.start + cycle * CYCLE > _LAST_CHANGE:
                return
            yield segment if cycle == 0 else segment.shift(cycle * CYCLE)
            index += 1

    def offset(self, instant: int) -> int:
        return self.segment(instant).offset

    def instants(self, local: int) -> list[int]:
        """Every instant at which a wall clock shows `local`: none in a gap, two in a fold."""
        instants = []
        for segment in self.segments_from(local - _TWO_DAYS):
            if segment.start > local + _TWO_DAYS:
                break
            if segment.local_start <= local < segment.local_end:
                instants.append(local - segment.offset)
        return instants

    def changes(self, after: int, until: int) -> Iterator[Segment]:
        """Yield the segments that begin with a clock change in (after, until]."""
        for segment in self.segments_from(after):
            if segment.start > until:
                return
            if segment.start > after:
                yield segment

    def next_match(self, next_local: NextLocal, after: int, gap: Gap, fold: Fold) -> int | None:
        """The first instant after `after` that matches a wall-time pattern under the given gap and fold policies.

        A schedule that follows real time passes gap `skip` and fold `both`: a wall time that is skipped never fires, one
        that is repeated fires twice.
        """
        no_match_until = _DISTANT_PAST
        for number, segment in enumerate(self.segments_from(after)):
            if segment.start > after + CYCLE:
                return None
            if segment.end <= no_match_until and number > 1:
                continue
            match = _first_match_in(segment, next_local, after, gap, fold)
            if match is not None and match < segment.end:
                return match
            upcoming = next_local(max(after + segment.offset, segment.local_start - 1))
            if upcoming is None and number > 0:
                return None
            if upcoming is not None:
                no_match_until = upcoming - _TWO_DAYS
        return None


def _first_match_in(segment: Segment, next_local: NextLocal, after: int, gap: Gap, fold: Fold) -> int | None:
    upcoming = next_local(max(after + segment.offset, segment.shown_from(fold) - 1))
    regular = upcoming - segment.offset if upcoming is not None and upcoming < segment.shown_until(fold) else None
    if segment.jump <= 0 or segment.jump >= DATE_LINE_JUMP or gap == "skip":
        return regular
    replacement = _first_replacement(segment, next_local, after, gap)
    if regular is None or replacement is None:
        return replacement if regular is None else regular
    return min(regular, replacement)


def _first_replacement(segment: Segment, next_local: NextLocal, after: int, gap: Gap) -> int | None:
    """The instant that replaces a wall time in the gap before this segment; None if there is none."""
    gap_range = segment.gap
    if gap == "next":
        skipped = next_local(gap_range.start - 1)
        return segment.start if segment.start > after and skipped is not None and skipped in gap_range else None
    offset_before = segment.offset - segment.jump
    skipped = next_local(max(after + offset_before, gap_range.start - 1))
    return skipped - offset_before if skipped is not None and skipped in gap_range else None


def _build_table(history: History, year: int) -> SegmentTable:
    starts, offsets = [_DISTANT_PAST], [history.first_offset]
    for instant, offset in history.through(year):
        starts.append(instant)
        offsets.append(offset)
    jumps = [0, *(new - old for old, new in pairwise(offsets)), 0]
    ends = [*starts[1:], -_DISTANT_PAST]
    segments = tuple(
        Segment(start, end, offset, jumps[index], jumps[index + 1])
        for index, (start, end, offset) in enumerate(zip(starts, ends, offsets, strict=True))
    )
    # The end of the last segment is beyond the horizon: no fast path for it, unless it never ends.
    final = segments if history.footer.saving is None else segments[:-1]
    disabled = [(each.offset, each.end, each.start) for each in segments[len(final) :]]
    return SegmentTable(
        year,
        segments,
        tuple(starts),
        (
            *(_fast_range(each, each.start + abs(each.jump), each.end + min(each.next_jump, 0)) for each in final),
            *disabled,
        ),
        (*(_fast_range(each, each.start, each.end) for each in final), *disabled),
    )


def _fast_range(segment: Segment, begin: int, end: int) -> tuple[int, int, int]:
    """The fast-path entry of a segment, limited to the calendar."""
    return segment.offset, max(begin, FIRST_INSTANT // SECOND), min(end, LAST_INSTANT // SECOND + 1)


@cache
def find_zone(name: str) -> Zone:
    """The zone with an exact IANA name (cached); refused if the `tzdata` package does not know it."""
    if name not in zone_names():
        raise refuse_unknown_zone(name)
    return Zone(name, read_history(name))


def refuse_unknown_zone(name: str, position: int | None = None) -> InvalidSchedule:
    """The refusal of an unknown name, with a suggestion if another name is similar."""
    near = find_nearest_zone(name)
    suggestion = ("", "") if near is None else (f"Did you mean {near}? ", f"是不是 {near}？")
    return refuse("unknown_zone", position, zone=name, suggestion=suggestion)


def find_nearest_zone(name: str) -> str | None:
    """The known zone name most similar to `name`; None if none is similar enough."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    by_folded = {known.casefold(): known for known in zone_names()}
    folded = name[:64].casefold().replace(" ", "_")
    if folded in by_folded:
        return by_folded[folded]
    cities = {known.rsplit("/", 1)[-1].casefold(): known for known in sorted(zone_names(), reverse=True)}
    close = get_close_matches(folded, [*by_folded, *cities], n=1, cutoff=_MIN_SIMILARITY)
    return (by_folded | cities)[close[0]] if close else None
