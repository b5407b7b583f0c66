"""The event log: numbered from one without gaps, in the order in which changes were made."""

from __future__ import annotations

from datetime import datetime

from ...model.event import Event, Numbered
from .table import Transaction


class Events:
    def __init__(self, transaction: Transaction) -> None:
        self._events: list[Event] = []
        self._forgotten = 0
        self._transaction = transaction

    @property
    def last(self) -> int:
        return self._forgotten + len(self._events)

    def append(self, event: Event) -> None:
        self._transaction.can_be_undone_by(self._take_back)
        self._events.append(event)

    def _take_back(self) -> None:
        self._events.pop()

    def after(self, number: int, limit: int, owner: str | None) -> tuple[Numbered, ...]:
        found: list[Numbered] = []
        for place in range(max(0, number - self._forgotten), len(self._events)):
            if len(found) == limit:
                break
            event = self._events[place]
            if owner is None or event.owner == owner:
                found.append(Numbered(self._forgotten + place + 1, event))
        return tuple(found)

    def forget(self, before: datetime, most: int) -> int:
        """Drop the oldest ones; their numbers are never used again."""
        count = 0
        while count < min(most, len(self._events)) and self._events[count].at < before:
            count += 1
        del self._events[:count]
        self._forgotten += count
        return count
