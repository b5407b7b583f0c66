"""The agenda's queue: entries by key, each with a rank that may change."""

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
        self._ranked: dict[Key, tuple[Rank, int]] = {}
        """The rank of each key, and its ticket in the queue."""

    def __len__(self) -> int:
        return len(self._ranked)

    def put(self, key: Key, rank: Rank) -> None:
        known = self._ranked.get(key)
        if known is not None:
            if known[0] == rank:
                return
            self._queue.discard(known[1])
        # Equal ranks leave by key, whatever the order in which they came.
        self._ranked[key] = (rank, self._queue.enqueue(key, (rank, key)))

    def discard(self, key: Key) -> None:
        known = self._ranked.pop(key, None)
        if known is not None:
            self._queue.discard(known[1])

    def head(self) -> tuple[Rank, Key] | None:
        first = self._queue.peek()
        return None if first is None else (first.priority[0], first.value)

    def pop_first(self, count: int, until: Rank | None = None) -> list[tuple[Rank, Key]]:
        """The first ones in order, none of them ranked after `until`."""
        popped: list[tuple[Rank, Key]] = []
        while len(popped) < count and (head := self.head()) is not None and (until is None or head[0] <= until):
            self._queue.dequeue()
            del self._ranked[head[1]]
            popped.append(head)
        return popped

    def first(self, count: int, until: Rank | None = None) -> list[Key]:
        """The same, but they stay where they are."""
        seen = self.pop_first(count, until)
        for rank, key in seen:
            self.put(key, rank)
        return [key for _, key in seen]
