"""A priority queue from which anything may leave: what has left is noticed when it comes to the top."""

from __future__ import annotations

from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

Key: TypeAlias = tuple[str, str]
"""A task's id and the slot of its entry."""
Rank: TypeAlias = tuple[int, datetime, int]
"""Priority, due instant, and the number of the task in the order in which they were added."""

_FEW: Final = 64


class Queue:
    def __init__(self) -> None:
        self._heap: list[tuple[Rank, Key]] = []
        self._ranks: dict[Key, Rank] = {}

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, key: Key, rank: Rank) -> None:
        if self._ranks.get(key) == rank:
            return
        self._ranks[key] = rank
        heappush(self._heap, (rank, key))
        if len(self._heap) > 2 * len(self._ranks) + _FEW:
            self._heap = [(rank, key) for key, rank in self._ranks.items()]
            heapify(self._heap)

    def discard(self, key: Key) -> None:
        self._ranks.pop(key, None)

    def head(self) -> tuple[Rank, Key] | None:
        while self._heap:
            rank, key = self._heap[0]
            if self._ranks.get(key) == rank:
                return rank, key
            heappop(self._heap)
        return None

    def pop_first(self, count: int, until: Rank | None = None) -> list[tuple[Rank, Key]]:
        """The first ones in order, none of them ranked after `until`."""
        popped: list[tuple[Rank, Key]] = []
        while len(popped) < count and (head := self.head()) is not None and (until is None or head[0] <= until):
            heappop(self._heap)
            del self._ranks[head[1]]
            popped.append(head)
        return popped

    def first(self, count: int, until: Rank | None = None) -> list[Key]:
        """The same, but they stay where they are."""
        seen = self.pop_first(count, until)
        for rank, key in seen:
            self.put(key, rank)
        return [key for _, key in seen]
