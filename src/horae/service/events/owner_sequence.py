"""Event log by owner and cursor: the n-th event of an owner has number n, which reveals nothing about other owners.

The log itself is numbered across all owners. The number of an event for its owner is its rank among the owner's events,
in that order. The log only grows, and retention keeps a count of the removed events of each owner, so a rank never
changes: cached ranks stay valid, and every process computes the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import EVERY_SYSTEM_OWNER, is_system_owner
from ...model.events.event import Event, NumberedEvent, SequencedEvent
from ...ports.store import Feed
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page, check_position

_MAX_OWNERS: Final = 10_000
_MAX_CACHED: Final = 1_024
_PAGE_SIZE: Final = 1_000
_MARK_DISTANCE: Final = 10_000
"""Distance in log positions between two marks of an owner that has few events."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class Gap(NamedTuple):
    """A reader asked for events `after` a cursor that are not there; the log continues after `resumes`."""

    after: int
    resumes: int


class _Cache(Generic[_K, _V]):
    """LRU cache."""

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
    """Whether reading from one mark to the other costs more than half a page of the owner's events, or far in the log."""
    return abs(one[0] - other[0]) >= _PAGE_SIZE // 2 or abs(one[1] - other[1]) >= _MARK_DISTANCE


def _any(_event: Event) -> bool:
    return True


class OwnerSequence:
    """Counts the events of each owner along one reading of the log, page after page."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._position = 0
        self._counts: dict[str, int] = {}

    def start(self, owner: str, position: int, count: int) -> None:
        """Set the owner's count up to that position, so that the next page needs no query."""
        self._position, self._counts = position, {owner: count}

    async def number(
        self, page: Sequence[NumberedEvent], after: int, is_wanted: Callable[[Event], bool] = _any
    ) -> tuple[SequencedEvent, ...]:
        """Return the wanted events of a page with their position and owner's number.

        The page has every event after `after`, of all owners or of one; only owners of wanted events are looked up.
        """
        if after != self._position or len(self._counts) > _MAX_OWNERS:
            self._counts = {}
        is_selected = [is_wanted(each.event) for each in page]
        owners = {each.event.owner for each, wants in zip(page, is_selected, strict=True) if wants}
        if unknown := sorted(owners - self._counts.keys()):
            self._counts |= await self._feed.owner_event_counts(unknown, after)
        self._position = page[-1].number if page else after
        sequenced: list[SequencedEvent] = []
        for (number, event), wants in zip(page, is_selected, strict=True):
            if event.owner in self._counts:
                self._counts[event.owner] += 1
                if wants:
                    sequenced.append(SequencedEvent(number, self._counts[event.owner], event))
        return tuple(sequenced)


class OwnerEvents:
    """The log for a reader of one scope: an owner uses the owner's numbers, an admin (scope None) log positions."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._marks: _Cache[str, list[tuple[int, int]]] = _Cache(_MAX_CACHED)
        """By owner, in order: (number of events, log position).

        One mark per page that was read on the way to a cursor, so that no cursor is far from a mark once the log was
        read.
        """
        self._latest: _Cache[str, tuple[int, int]] = _Cache(_MAX_OWNERS)
        """By owner: (log position, number of events up to it)."""
        self._readings: _Cache[int, OwnerSequence] = _Cache(_MAX_CACHED // 32)
        """Readings of admins, by the position where each continues."""

    async def after(
        self, scope: str | None, cursor: int, limit: int, is_wanted: Callable[[Event], bool] = _any
    ) -> tuple[SequencedEvent, ...]:
        """Return the next events after a cursor, oldest first; `is_wanted` leaves out events for an admin."""
        if scope is None:
            return await self._after_position(cursor, limit, is_wanted)
        position, count = await self.locate(scope, cursor)
        events = await self._feed.events(position, limit, scope)
        sequenced = tuple(SequencedEvent(number, number, each.event) for number, each in enumerate(events, count + 1))
        if events:
            self._mark(scope, (sequenced[-1].cursor, events[-1].number))
        return sequenced

    async def _after_position(
        self, position: int, limit: int, is_wanted: Callable[[Event], bool]
    ) -> tuple[SequencedEvent, ...]:
        reading = self._readings.get(position) or OwnerSequence(self._feed)
        sequenced: tuple[SequencedEvent, ...] = ()
        while (size := limit - len(sequenced)) > 0:
            events = await self._feed.events(position, size)
            sequenced += await reading.number(events, position, is_wanted)
            if events:
                position = events[-1].number
                self._readings.put(position, reading)
            if len(events) < size:
                break
        return sequenced

    async def locate(self, owner: str, count: int) -> tuple[int, int]:
        """Return the log position up to which an owner has so many events, and how many those are.

        The number is higher if retention has removed more, lower if there are no more.
        """
        removed = (await self._feed.owner_event_counts([owner], 0))[owner]
        reached, position = removed, 0
        marks = self._marks.get(owner) or []
        index = bisect_right(marks, count, key=_count)
        if index and marks[index - 1][0] > removed:
            reached, position = marks[index - 1]
        while reached < count:
            page = await self._feed.events(position, _PAGE_SIZE, owner)
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
        index = bisect_right(marks, mark[0], key=_count)
        neighbours = [(0, 0), *marks[:index]][-1:] + marks[index : index + 1]
        if all(_are_apart(each, mark) for each in neighbours):
            marks.insert(index, mark)

    async def last(self, scope: str | None) -> int:
        """Return the newest cursor that a reader could have seen."""
        end = await self._feed.last_event()
        return end if scope is None else await self.count(scope, end)

    async def count(self, owner: str, until: int) -> int:
        """Count an owner's events up to a position; continues from the last result if possible."""
        known = self._latest.get(owner)
        total = None if known is None or known[0] > until else await self._count_from(owner, known, until)
        if total is None:
            total = (await self._feed.owner_event_counts([owner], until))[owner]
        self._latest.put(owner, (until, total))
        return total

    async def _count_from(self, owner: str, known: tuple[int, int], until: int) -> int | None:
        """Return None if retention has removed events that would have to be counted."""
        start, count = known
        position = start
        while position < until:
            events = await self._feed.events(position, _PAGE_SIZE, owner)
            count += sum(each.number <= until for each in events)
            if len(events) < _PAGE_SIZE:
                break
            position = events[-1].number
        oldest = await self._feed.events(0, 1)
        kept_after = oldest[0].number - 1 if oldest else until
        return count if start >= kept_after else None

    async def gap(self, scope: str | None, cursor: int) -> Gap | None:
        """Return a gap if events after that cursor may have been removed, or the cursor was never issued; else None."""
        last = await self.last(scope)
        if cursor > last:
            return Gap(cursor, last)
        if scope is not None:
            removed = (await self._feed.owner_event_counts([scope], 0))[scope]
        else:
            oldest = await self._feed.events(0, 1)
            removed = oldest[0].number - 1 if oldest else last
        return Gap(cursor, removed) if 0 < cursor < removed else None


def event_scope(principal: Principal) -> str | None:
    """Return the owner whose events the principal reads; None for readers of the whole log, who use its positions."""
    return None if principal.owner == EVERY_SYSTEM_OWNER else principal.owner_filter


class Events:
    """Reads of the event log by cursor: a reader that resumes misses no event, and an owner sees only its own."""

    def __init__(self, feed: Feed) -> None:
        self.log = OwnerEvents(feed)

    async def after(self, principal: Principal, number: int, limit: int = 1_000) -> tuple[SequencedEvent, ...]:
        """Return the next events after a cursor, oldest first.

        An owner's cursors count its own events, an admin's all events.
        """
        _check(principal)
        check_page(None, limit)
        check_position("after", number)
        is_system = is_system_owner(principal.owner)
        return await self.log.after(
            event_scope(principal), number, limit, lambda event: is_system_owner(event.owner) is is_system
        )

    async def last(self, principal: Principal) -> int:
        """Return the cursor after which only new events follow."""
        _check(principal)
        return await self.log.last(event_scope(principal))

    async def gap(self, principal: Principal, number: int) -> Gap | None:
        """Return a gap if events after that cursor may have been removed, or the cursor was never issued; else None."""
        _check(principal)
        return await self.log.gap(event_scope(principal), number)


def _check(principal: Principal) -> None:
    refuse_agent(principal, "events")
    principal.require_scope(Scope.READ)
