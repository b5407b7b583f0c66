"""Priority queue: a binary heap with lazy removal, first in first out among equal priorities; the memory store's agenda uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
_MIN_COMPACT: Final = 64


class Node(NamedTuple, Generic[T]):
    """Value in the queue and its priority."""

    value: T
    priority: Any


class PriorityQueue(Generic[T]):
    """The value with the smallest priority leaves first; among equals, the one that was enqueued first.

    Priorities are any ordered values: numbers, instants, tuples. `enqueue` and `dequeue` take O(log n), `peek`
    and `is_empty` O(1), `discard` by ticket O(1), `remove` by predicate O(n). A removed value stays in the heap until it
    reaches the top, or until removed values outnumber live ones. A queue is not thread-safe.
    """

    __slots__ = ("_heap", "_next_ticket", "_values")

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int]] = []
        self._values: dict[int, T] = {}
        self._next_ticket = count()

    def enqueue(self, value: T, priority: Any) -> int:
        """Add a value; return a ticket for `discard`."""
        ticket = next(self._next_ticket)
        self._values[ticket] = value
        heappush(self._heap, (priority, ticket))
        return ticket

    def dequeue(self) -> T | None:
        """Remove and return the first value; None when the queue is empty."""
        self._drop_removed()
        return self._values.pop(heappop(self._heap)[1]) if self._heap else None

    def peek(self) -> Node[T] | None:
        """Return the first value and its priority without removing them; None when the queue is empty."""
        self._drop_removed()
        if not self._heap:
            return None
        priority, ticket = self._heap[0]
        return Node(self._values[ticket], priority)

    def discard(self, ticket: int) -> bool:
        """Remove the value of a ticket; return False when it has left already."""
        if ticket not in self._values:
            return False
        del self._values[ticket]
        if len(self._heap) > 2 * len(self._values) + _MIN_COMPACT:
            self._heap = [each for each in self._heap if each[1] in self._values]
            heapify(self._heap)
        return True

    def remove(self, matches: Callable[[T], bool]) -> bool:
        """Remove the first value, in queue order, that matches; return False when none does."""
        first = min((each for each in self._live() if matches(self._values[each[1]])), default=None)
        return first is not None and self.discard(first[1])

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
        """Iterate over a snapshot of the values in queue order."""
        return iter([self._values[ticket] for _, ticket in sorted(self._live())])

    def _live(self) -> Iterator[tuple[Any, int]]:
        return (each for each in self._heap if each[1] in self._values)

    def _drop_removed(self) -> None:
        while self._heap and self._heap[0][1] not in self._values:
            heappop(self._heap)
