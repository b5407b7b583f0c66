"""Priority queue of agenda entries by key, with ranks that can change."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias

from ...priority_queue import PriorityQueue

Key: TypeAlias = tuple[str, str]
"""A task's id and the slot of its entry."""


class Rank(NamedTuple):
    """`number` is that of the task, in the order in which they were added."""

    priority: int
    due: datetime
    number: int


class RankedKey(NamedTuple):
    rank: Rank
    key: Key


class _Position(NamedTuple):
    """Rank of a key, and its ticket in the priority queue."""

    rank: Rank
    ticket: int


class Queue:
    def __init__(self) -> None:
        self._queue: PriorityQueue[Key] = PriorityQueue()
        self._positions: dict[Key, _Position] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def put(self, key: Key, rank: Rank) -> None:
        position = self._positions.get(key)
        if position is not None:
            if position.rank == rank:
                return
            self._queue.discard(position.ticket)
        # Equal ranks are ordered by key, not by insertion.
        self._positions[key] = _Position(rank, self._queue.enqueue(key, (rank, key)))

    def discard(self, key: Key) -> None:
        position = self._positions.pop(key, None)
        if position is not None:
            self._queue.discard(position.ticket)

    def head(self) -> RankedKey | None:
        first = self._queue.peek()
        return None if first is None else RankedKey(*first.priority)

    def pop_first(self, count: int, until: Rank | None = None) -> list[RankedKey]:
        """Remove and return the first `count` keys in order, none ranked after `until`."""
        popped: list[RankedKey] = []
        while len(popped) < count and (head := self.head()) is not None and (until is None or head.rank <= until):
            self._queue.dequeue()
            del self._positions[head.key]
            popped.append(head)
        return popped

    def first(self, count: int, until: Rank | None = None) -> list[Key]:
        """Return the first `count` keys in order, none ranked after `until`, without removing them."""
        popped = self.pop_first(count, until)
        for rank, key in popped:
            self.put(key, rank)
        return [key for _, key in popped]
