"""Zone arithmetic, all of it: what a wall clock shows, and what becomes of a time that it shows twice or never.

A zone is a row of *segments*, stretches of real time under one offset. A wall-clock time that falls between two
segments lies in a *gap*; one that two segments both show lies in a *fold*. Everything else follows from that, for
changes of any size: half an hour, two hours, or a day over the date line.
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
from .gregorian import new_year
from .instants import FIRST_INSTANT, LAST_INSTANT, SECOND
from .refusals import refuse
from .tzif import History, read_history, zone_names

NextLocal = Callable[[int], int | None]

# A forward jump this long crosses the date line: the day it drops never was, and nothing stands in for it.
DATE_LINE_JUMP: Final = 3 * 3600
_LONG_AGO: Final = -(10**15)
_TWO_DAYS: Final = 2 * 86_400
# The calendar repeats after 400 years: what has not come by then does not come, and clock changes come again.
CYCLE: Final = 146_097 * 86_400
_NEAR_YEAR: Final = 2100
_FAR_YEAR: Final = _NEAR_YEAR + 401
_CYCLE_BEGIN: Final = new_year(_NEAR_YEAR) * 86_400
_NEAR: Final = 0.75
"""How alike two names are at least, for one to be suggested for the other."""
_LAST_CHANGE: Final = new_year(10_002) * 86_400


@dataclass(frozen=True, slots=True)
class Segment:
    """Real time from `start` until `end` (exclusive), all under one offset; `jump` is the change that began it."""

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
        """The first wall time that counts here: with fold `first`, what the former segment showed is spent."""
        return self.local_start - min(self.jump, 0) if fold == "first" else self.local_start

    def shown_until(self, fold: Fold) -> int:
        """With fold `last`, what the next segment shows again is left to it."""
        return self.local_end + min(self.next_jump, 0) if fold == "last" else self.local_end

    def later(self, seconds: int) -> Segment:
        return Segment(self.start + seconds, self.end + seconds, self.offset, self.jump, self.next_jump)

    @property
    def gap(self) -> range:
        """The wall times that the change into this segment left out."""
        return range(self.local_start - max(self.jump, 0), self.local_start)


@dataclass(frozen=True, slots=True)
class Table:
    """A zone's segments up to a year, with what the fast paths look up."""

    year: int
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]
    # (offset, from, until) of the instants where a wall time means one instant and nothing has to be decided.
    unambiguous: tuple[tuple[int, int, int], ...]
    # The same for schedules that follow real time: the whole segment.
    whole: tuple[tuple[int, int, int], ...]


class Zone:
    """One IANA zone. Compare zones by name.

    The near table reaches as far as people plan; the far one, made when somebody asks, covers a whole cycle of the
    calendar. What lies beyond is the same cycle again, 400 years later for each turn.
    """

    __slots__ = ("_far", "_history", "name", "table")

    def __init__(self, name: str, history: History) -> None:
        self.name = name
        self._history = history
        self.table = _build(history, _NEAR_YEAR)
        self._far: Table | None = None

    def segment(self, instant: int) -> Segment:
        return next(self.segments_from(instant))

    def segments_from(self, instant: int) -> Iterator[Segment]:
        """The segment that holds `instant` and all that follow, for as long as the calendar goes."""
        near = self.table
        index = bisect_right(near.starts, instant) - 1
        # The last segment of a table may end behind its horizon: the far table knows where.
        while index < len(near.segments) - 1:
            yield near.segments[index]
            index += 1
        if self._history.footer.saving is None:
            yield near.segments[-1]
            return
        yield from self._far_segments(max(instant, near.starts[-1]))

    def _far_segments(self, instant: int) -> Iterator[Segment]:
        if self._far is None:
            self._far = _build(self._history, _FAR_YEAR)
        starts, segments = self._far.starts, self._far.segments
        begin = bisect_right(starts, _CYCLE_BEGIN)  # the first change of the cycle, and how many it has
        length = bisect_right(starts, _CYCLE_BEGIN + CYCLE) - begin
        if length == 0:
            yield segments[-1]
            return
        turns = max(0, (instant - _CYCLE_BEGIN) // CYCLE)
        index = bisect_right(starts, instant - turns * CYCLE) - 1 + turns * length
        while True:
            turn, place = divmod(max(index - begin, 0), length)
            segment = segments[begin + place if index >= begin else index]
            if segment.start + turn * CYCLE > _LAST_CHANGE:
                return
            yield segment if turn == 0 else segment.later(turn * CYCLE)
            index += 1

    def offset(self, instant: int) -> int:
        return self.segment(instant).offset

    def instants(self, local: int) -> list[int]:
        """Every instant at which a wall clock shows `local`: none in a gap, two in a fold."""
        found = []
        for segment in self.segments_from(local - _TWO_DAYS):
            if segment.start > local + _TWO_DAYS:
                break
            if segment.local_start <= local < segment.local_end:
                found.append(local - segment.offset)
        return found

    def changes(self, after: int, until: int) -> Iterator[Segment]:
        """The segments that a clock change begins within (after, until]."""
        for segment in self.segments_from(after):
            if segment.start > until:
                return
            if segment.start > after:
                yield segment

    def next_match(self, next_local: NextLocal, after: int, gap: Gap, fold: Fold) -> int | None:
        """The first instant after `after` that a pattern of wall times means here.

        A schedule that follows real time passes gap `skip` and fold `both`: what the wall never shows never fires,
        what it shows twice fires twice.
        """
        quiet_until = _LONG_AGO
        for number, segment in enumerate(self.segments_from(after)):
            if segment.start > after + CYCLE:
                return None
            if segment.end <= quiet_until and number > 1:
                continue
            found = _first_in(segment, next_local, after, gap, fold)
            if found is not None and found < segment.end:
                return found
            upcoming = next_local(max(after + segment.offset, segment.local_start - 1))
            if upcoming is None and number > 0:
                return None
            if upcoming is not None:
                quiet_until = upcoming - _TWO_DAYS
        return None


def _first_in(segment: Segment, next_local: NextLocal, after: int, gap: Gap, fold: Fold) -> int | None:
    shown = next_local(max(after + segment.offset, segment.shown_from(fold) - 1))
    ordinary = shown - segment.offset if shown is not None and shown < segment.shown_until(fold) else None
    if segment.jump <= 0 or segment.jump >= DATE_LINE_JUMP or gap == "skip":
        return ordinary
    replaced = _first_replacement(segment, next_local, after, gap)
    if ordinary is None or replaced is None:
        return replaced if ordinary is None else ordinary
    return min(ordinary, replaced)


def _first_replacement(segment: Segment, next_local: NextLocal, after: int, gap: Gap) -> int | None:
    """What fires instead of a wall time that the change into this segment left out."""
    missing = segment.gap
    if gap == "next":
        lost = next_local(missing.start - 1)
        return segment.start if segment.start > after and lost is not None and lost in missing else None
    former_offset = segment.offset - segment.jump
    lost = next_local(max(after + former_offset, missing.start - 1))
    return lost - former_offset if lost is not None and lost in missing else None


def _build(history: History, year: int) -> Table:
    starts, offsets = [_LONG_AGO], [history.first_offset]
    for instant, offset in history.through(year):
        starts.append(instant)
        offsets.append(offset)
    jumps = [0, *(new - old for old, new in pairwise(offsets)), 0]
    ends = [*starts[1:], -_LONG_AGO]
    segments = tuple(
        Segment(start, end, offset, jumps[index], jumps[index + 1])
        for index, (start, end, offset) in enumerate(zip(starts, ends, offsets, strict=True))
    )
    # A later change may hide behind the horizon: the last segment has no fast part, unless it lasts for ever.
    settled = segments if history.footer.saving is None else segments[:-1]
    closed = [(each.offset, each.end, each.start) for each in segments[len(settled) :]]
    return Table(
        year,
        segments,
        tuple(starts),
        (
            *(_clear(each, each.start + abs(each.jump), each.end + min(each.next_jump, 0)) for each in settled),
            *closed,
        ),
        (*(_clear(each, each.start, each.end) for each in settled), *closed),
    )


def _clear(segment: Segment, begin: int, end: int) -> tuple[int, int, int]:
    """No fast answer lies beyond the calendar, nor before it."""
    return segment.offset, max(begin, FIRST_INSTANT // SECOND), min(end, LAST_INSTANT // SECOND + 1)


@cache
def find_zone(name: str) -> Zone:
    """The zone of an exact IANA name; refused when the `tzdata` package does not know it."""
    if name not in zone_names():
        raise unknown_zone(name)
    return Zone(name, read_history(name))


def unknown_zone(name: str, position: int | None = None) -> InvalidSchedule:
    """The refusal of a name; it suggests another one only where that is near."""
    near = nearest_zone(name)
    suggestion = ("", "") if near is None else (f"Did you mean {near}? ", f"是不是 {near}？")
    return refuse("unknown_zone", position, zone=name, suggestion=suggestion)


def nearest_zone(name: str) -> str | None:
    """The known name that a person most likely meant; None where no name is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    by_folded = {known.casefold(): known for known in zone_names()}
    folded = name[:64].casefold().replace(" ", "_")
    if folded in by_folded:
        return by_folded[folded]
    cities = {known.rsplit("/", 1)[-1].casefold(): known for known in sorted(zone_names(), reverse=True)}
    close = get_close_matches(folded, [*by_folded, *cities], n=1, cutoff=_NEAR)
    return (by_folded | cities)[close[0]] if close else None
