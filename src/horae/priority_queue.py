"""A binary heap with removal: `enqueue`, `dequeue`, `peek`, `remove`, `is_empty`, `size`. The memory store's agenda stands on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
_FEW: Final = 64


class Node(NamedTuple, Generic[T]):
    """A value in the queue, and the priority that it was given."""

    value: T
    priority: Any


class PriorityQueue(Generic[T]):
    """The value with the smallest priority leaves first; among equals, the one that came first.

    Priorities are anything that can be ordered: numbers, instants, tuples. `enqueue` and `dequeue` take O(log n), `peek`
    and `is_empty` O(1), `discard` by ticket O(1), `remove` by predicate O(n). What was removed stays in the heap until it
    comes to the top, or until it outnumbers what is left. One thread at a time may use a queue.
    """

    __slots__ = ("_heap", "_next_ticket", "_values")

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int]] = []
        self._values: dict[int, T] = {}
        self._next_ticket = count()

    def enqueue(self, value: T, priority: Any) -> int:
        """Returns a ticket, with which `discard` finds the value again."""
        ticket = next(self._next_ticket)
        self._values[ticket] = value
        heappush(self._heap, (priority, ticket))
        return ticket

    def dequeue(self) -> T | None:
        """The first value, which leaves; None when the queue is empty."""
        self._drop_removed()
        return self._values.pop(heappop(self._heap)[1]) if self._heap else None

    def peek(self) -> Node[T] | None:
        """The first value and its priority, which stay; None when the queue is empty."""
        self._drop_removed()
        if not self._heap:
            return None
        priority, ticket = self._heap[0]
        return Node(self._values[ticket], priority)

    def discard(self, ticket: int) -> bool:
        """Removes the value of a ticket; False when it has left already."""
        if ticket not in self._values:
            return False
        del self._values[ticket]
        if len(self._heap) > 2 * len(self._values) + _FEW:
            self._heap = [each for each in self._heap if each[1] in self._values]
            heapify(self._heap)
        return True

    def remove(self, matches: Callable[[T], bool]) -> bool:
        """Removes the first value, in the order of the queue, that matches; False when none does."""
        found = min((each for each in self._live() if matches(self._values[each[1]])), default=None)
        return found is not None and self.discard(found[1])

    def clear(self) -> None:
        self._heap.clear()
        self._values.clear()

    def is_empty(self) -> bool:
        return not self._values

    @property
    def size(self) -> int:
        return len(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        """Every value in the order in which they would leave; they stay."""
        return iter([self._values[ticket] for _, ticket in sorted(self._live())])

    def _live(self) -> Iterator[tuple[Any, int]]:
        return (each for each in self._heap if each[1] in self._values)

    def _drop_removed(self) -> None:
        while self._heap and self._heap[0][1] not in self._values:
            heappop(self._heap)
