"""Priority queue of agenda entries by key, with ranks that can change."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from ...priority_queue import PriorityQueue

Key: TypeAlias = tuple[str, str]
"""A task's id and the slot of its entry."""
Rank: TypeAlias = tuple[int, datetime, int]
"""Priority, due instant, and the number of the task in the order in which they were added."""


class Queue:
    def __init__(self) -> None:
        self._queue: PriorityQueue[Key] = PriorityQueue()
        self._ranks: dict[Key, tuple[Rank, int]] = {}
        """Rank of each key, and its ticket in the priority queue."""

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, key: Key, rank: Rank) -> None:
        ranked = self._ranks.get(key)
        if ranked is not None:
            if ranked[0] == rank:
                return
            self._queue.discard(ranked[1])
        # Equal ranks are ordered by key, not by insertion.
        self._ranks[key] = (rank, self._queue.enqueue(key, (rank, key)))

    def discard(self, key: Key) -> None:
        ranked = self._ranks.pop(key, None)
        if ranked is not None:
            self._queue.discard(ranked[1])

    def head(self) -> tuple[Rank, Key] | None:
        first = self._queue.peek()
        return None if first is None else (first.priority[0], first.value)

    def pop_first(self, count: int, until: Rank | None = None) -> list[tuple[Rank, Key]]:
        """Remove and return the first `count` keys in order, none ranked after `until`."""
        popped: list[tuple[Rank, Key]] = []
        while len(popped) < count and (head := self.head()) is not None and (until is None or head[0] <= until):
            self._queue.dequeue()
            del self._ranks[head[1]]
            popped.append(head)
        return popped

    def first(self, count: int, until: Rank | None = None) -> list[Key]:
        """Return the first `count` keys in order, none ranked after `until`, without removing them."""
        popped = self.pop_first(count, until)
        for rank, key in popped:
            self.put(key, rank)
        return [key for _, key in popped]
