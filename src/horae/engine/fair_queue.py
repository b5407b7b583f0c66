"""Fair queue of settlements: round-robin between owners, so that a burst of one owner does not delay another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ..model.outcome import Settlement


class QueuedSettlement(NamedTuple):
    owner: str
    settlement: Settlement


class FairQueue:
    """First in, first out within an owner; round-robin between owners."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[QueuedSettlement]] = {}
        self._owners: deque[str] = deque()
        """Owners with queued settlements, each once, in round-robin order."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedSettlement]:
        return chain.from_iterable(self._queues.values())

    def add(self, queued: QueuedSettlement) -> None:
        queue = self._queues.get(queued.owner)
        if queue is None:
            queue = self._queues[queued.owner] = deque()
            self._owners.append(queued.owner)
        queue.append(queued)
        self._size += 1

    def take(self, most: int) -> deque[QueuedSettlement]:
        """Remove and return up to `most` settlements."""
        size = min(most, self._size)
        self._size -= size
        taken: deque[QueuedSettlement] = deque()
        while len(taken) < size:
            owner = self._owners.popleft()
            queue = self._queues[owner]
            # With a single owner no round-robin is needed.
            share = 1 if self._owners else min(size - len(taken), len(queue))
            taken.extend([queue.popleft() for _ in range(share)])
            if queue:
                self._owners.append(owner)
            else:
                del self._queues[owner]
        return taken

    def return_to_front(self, taken: Iterable[QueuedSettlement]) -> None:
        """Return settlements that could not be committed, in the order of `take`, to the front of their owners' queues."""
        for queued in reversed(list(taken)):
            if queued.owner not in self._queues:
                self._queues[queued.owner] = deque()
                self._owners.appendleft(queued.owner)
            self._queues[queued.owner].appendleft(queued)
            self._size += 1
