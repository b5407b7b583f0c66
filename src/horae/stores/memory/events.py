"""Event log: events are numbered from one without gaps in commit order; imported events keep their numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection
from datetime import datetime

from ...model.events.event import Event, NumberedEvent
from .table import Transaction


def _number(numbered: NumberedEvent) -> int:
    return numbered.number


class Events:
    def __init__(self, transaction: Transaction) -> None:
        self._events: list[NumberedEvent] = []
        self._last = 0
        self._transaction = transaction

    def __len__(self) -> int:
        return len(self._events)

    @property
    def last_number(self) -> int:
        return self._last

    def append(self, numbered: Event) -> None:
        self._transaction.on_rollback(self._undo_append)
        self._last += 1
        self._events.append(NumberedEvent(self._last, numbered))

    def _undo_append(self) -> None:
        self._events.pop()
        self._last -= 1

    def insert_numbered(self, numbered: NumberedEvent) -> None:
        """Insert an event under its own number; an event that already has the number stays."""
        index = bisect_left(self._events, numbered.number, key=_number)
        if index < len(self._events) and self._events[index].number == numbered.number:
            return
        self._transaction.on_rollback(lambda: self._events.remove(numbered))
        self._events.insert(index, numbered)
        self.raise_last_number(numbered.number)

    def raise_last_number(self, number: int) -> None:
        """Raise the last number, so that new events get higher ones."""
        before, self._last = self._last, max(self._last, number)
        self._transaction.on_rollback(lambda: setattr(self, "_last", before))

    def read_after(self, number: int, limit: int, owner: str | None) -> tuple[NumberedEvent, ...]:
        events: list[NumberedEvent] = []
        for index in range(bisect_right(self._events, number, key=_number), len(self._events)):
            if len(events) == limit:
                break
            numbered = self._events[index]
            if owner is None or numbered.event.owner == owner:
                events.append(numbered)
        return tuple(events)

    def count_by_owner(self, owners: Collection[str], until: int) -> Counter[str]:
        """Count the stored events of each of these owners up to the number `until`."""
        stored = self._events[: bisect_right(self._events, until, key=_number)]
        return Counter(each.event.owner for each in stored if each.event.owner in owners)

    def delete_oldest(self, before: datetime, most: int) -> Counter[str]:
        """Delete at most `most` of the oldest events and return their count by owner; numbers are not reused."""
        count = 0
        while count < min(most, len(self._events)) and self._events[count].event.at < before:
            count += 1
        removed = Counter(each.event.owner for each in self._events[:count])
        del self._events[:count]
        return removed
