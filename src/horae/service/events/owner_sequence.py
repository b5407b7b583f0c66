"""Event numbers per owner: the n-th event of an owner has number n, so a number says nothing about other owners.

The log itself is numbered across all owners. The number of an event for its owner is its rank among the owner's events, in
that order. The log only grows, and retention keeps how many events of each owner it has removed, so a rank never changes:
whatever is cached here is true for good, and every process computes the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from ...model.events.event import Event, Numbered, Sequenced
from ...ports.store import Feed

_MOST_OWNERS: Final = 10_000
_MOST_CACHED: Final = 1_024
_PAGE: Final = 1_000
_FAR: Final = 10_000
"""Positions of the log between two marks of an owner that has few events."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class Gap(NamedTuple):
    """A reader asked for what is not there: it asked for what comes `after`, and the log goes on after `resumes`."""

    after: int
    resumes: int


class _Cache(Generic[_K, _V]):
    """The least recently used entry goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[_K, _V] = OrderedDict()

    def get(self, key: _K) -> _V | None:
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: _K, value: _V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


def _count(mark: tuple[int, int]) -> int:
    return mark[0]


def _are_apart(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether reading from one mark to the other costs more than a small page: of the owner's events, or of all."""
    return abs(one[0] - other[0]) >= _PAGE // 2 or abs(one[1] - other[1]) >= _FAR


def _any(_event: Event) -> bool:
    return True


class OwnerSequence:
    """Counts the events of each owner along one reading of the log, page after page."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._position = 0
        self._counts: dict[str, int] = {}

    def start(self, owner: str, position: int, count: int) -> None:
        """This owner has so many events up to that position: the next page needs no query."""
        self._position, self._counts = position, {owner: count}

    async def number(
        self, page: Sequence[Numbered], after: int, is_wanted: Callable[[Event], bool] = _any
    ) -> tuple[Sequenced, ...]:
        """The wanted events of a page, by their position in the log. The page has every event after `after`, of all owners
        or of one; only owners of wanted events are looked up."""
        if after != self._position or len(self._counts) > _MOST_OWNERS:
            self._counts = {}
        wanted = [is_wanted(each.event) for each in page]
        owners = {each.event.owner for each, takes in zip(page, wanted, strict=True) if takes}
        if unknown := sorted(owners - self._counts.keys()):
            self._counts |= await self._feed.owner_event_counts(unknown, after)
        self._position = page[-1].number if page else after
        found: list[Sequenced] = []
        for (number, event), takes in zip(page, wanted, strict=True):
            if event.owner in self._counts:
                self._counts[event.owner] += 1
                if takes:
                    found.append(Sequenced(number, self._counts[event.owner], event))
        return tuple(found)


class OwnerEvents:
    """The log as a reader of one scope sees it: an owner by the owner's numbers, an admin (scope None) by log positions."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._marks: _Cache[str, list[tuple[int, int]]] = _Cache(_MOST_CACHED)
        """By owner, in order: so many events it has up to a position. There is one for each page that was read on the way to
        a cursor, so that no cursor is far from a mark once the log was read."""
        self._latest: _Cache[str, tuple[int, int]] = _Cache(_MOST_OWNERS)
        """By owner: how many events it has up to a position."""
        self._readings: _Cache[int, OwnerSequence] = _Cache(_MOST_CACHED // 32)
        """Readings of an admin, by where each of them goes on."""

    async def after(self, scope: str | None, cursor: int, limit: int) -> tuple[Sequenced, ...]:
        """The next events after a cursor, oldest first."""
        if scope is None:
            return await self._after_position(cursor, limit)
        position, count = await self.locate(scope, cursor)
        events = await self._feed.events(position, limit, scope)
        found = tuple(Sequenced(place, place, each.event) for place, each in enumerate(events, count + 1))
        if events:
            self._mark(scope, (found[-1].cursor, events[-1].number))
        return found

    async def _after_position(self, position: int, limit: int) -> tuple[Sequenced, ...]:
        events = await self._feed.events(position, limit)
        reading = self._readings.get(position) or OwnerSequence(self._feed)
        found = await reading.number(events, position)
        if events:
            self._readings.put(events[-1].number, reading)
        return found

    async def locate(self, owner: str, count: int) -> tuple[int, int]:
        """The position in the log up to which an owner has so many events, and how many those are: more where retention has
        removed more, fewer where there are no more."""
        removed = (await self._feed.owner_event_counts([owner], 0))[owner]
        reached, position = removed, 0
        marks = self._marks.get(owner) or []
        place = bisect_right(marks, count, key=_count)
        if place and marks[place - 1][0] > removed:
            reached, position = marks[place - 1]
        while reached < count:
            page = await self._feed.events(position, _PAGE, owner)
            if not page:
                break
            taken = page[: count - reached]
            reached, position = reached + len(taken), taken[-1].number
            self._mark(owner, (reached, position))
        return position, reached

    def _mark(self, owner: str, mark: tuple[int, int]) -> None:
        marks = self._marks.get(owner)
        if marks is None:
            marks = []
            self._marks.put(owner, marks)
        place = bisect_right(marks, mark[0], key=_count)
        neighbours = [(0, 0), *marks[:place]][-1:] + marks[place : place + 1]
        if all(_are_apart(each, mark) for each in neighbours):
            marks.insert(place, mark)

    async def last(self, scope: str | None) -> int:
        """The newest cursor that a reader could have seen."""
        end = await self._feed.last_event()
        return end if scope is None else await self.count(scope, end)

    async def count(self, owner: str, until: int) -> int:
        """How many events an owner has up to a position: counted on from the last answer where that is possible."""
        known = self._latest.get(owner)
        found = None if known is None or known[0] > until else await self._counted_on(owner, known, until)
        if found is None:
            found = (await self._feed.owner_event_counts([owner], until))[owner]
        self._latest.put(owner, (until, found))
        return found

    async def _counted_on(self, owner: str, known: tuple[int, int], until: int) -> int | None:
        """None when retention has reached what would have to be counted."""
        start, count = known
        position = start
        while position < until:
            events = await self._feed.events(position, _PAGE, owner)
            count += sum(each.number <= until for each in events)
            if len(events) < _PAGE:
                break
            position = events[-1].number
        oldest = await self._feed.events(0, 1)
        kept_after = oldest[0].number - 1 if oldest else until
        return count if start >= kept_after else None

    async def gap(self, scope: str | None, cursor: int) -> Gap | None:
        """Whether something after that cursor may have been removed, or that cursor was never given out."""
        last = await self.last(scope)
        if cursor > last:
            return Gap(cursor, last)
        if scope is not None:
            removed = (await self._feed.owner_event_counts([scope], 0))[scope]
        else:
            oldest = await self._feed.events(0, 1)
            removed = oldest[0].number - 1 if oldest else last
        return Gap(cursor, removed) if 0 < cursor < removed else None
