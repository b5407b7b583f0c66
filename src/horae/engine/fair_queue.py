"""Queue of settlements in which owners take turns: a burst of one owner does not delay the settlements of another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ..model.outcome import Settlement


class Queued(NamedTuple):
    owner: str
    settlement: Settlement


class FairQueue:
    """First in, first out within an owner; between owners, one each in turn."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Queued]] = {}
        self._turns: deque[str] = deque()
        """Every owner with something queued, once, the next one first."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Queued]:
        return chain.from_iterable(self._queues.values())

    def add(self, queued: Queued) -> None:
        queue = self._queues.get(queued.owner)
        if queue is None:
            queue = self._queues[queued.owner] = deque()
            self._turns.append(queued.owner)
        queue.append(queued)
        self._size += 1

    def take(self, most: int) -> deque[Queued]:
        size = min(most, self._size)
        self._size -= size
        taken: deque[Queued] = deque()
        while len(taken) < size:
            owner = self._turns.popleft()
            queue = self._queues[owner]
            # A single owner needs no turns.
            share = 1 if self._turns else min(size - len(taken), len(queue))
            taken.extend([queue.popleft() for _ in range(share)])
            if queue:
                self._turns.append(owner)
            else:
                del self._queues[owner]
        return taken

    def put_back(self, taken: Iterable[Queued]) -> None:
        """What could not be settled, in the order in which it was taken: each is the first of its owner again."""
        for queued in reversed(list(taken)):
            if queued.owner not in self._queues:
                self._queues[queued.owner] = deque()
                self._turns.appendleft(queued.owner)
            self._queues[queued.owner].appendleft(queued)
            self._size += 1
