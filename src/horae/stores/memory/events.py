"""The event log: numbered from one without gaps, in the order in which changes were made; what was carried in keeps its number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection
from datetime import datetime

from ...model.events.event import Event, Numbered
from .table import Transaction


def _number(numbered: Numbered) -> int:
    return numbered.number


class Events:
    def __init__(self, transaction: Transaction) -> None:
        self._events: list[Numbered] = []
        self._last = 0
        self._transaction = transaction

    def __len__(self) -> int:
        return len(self._events)

    @property
    def last(self) -> int:
        return self._last

    def append(self, event: Event) -> None:
        self._transaction.can_be_undone_by(self._take_back)
        self._last += 1
        self._events.append(Numbered(self._last, event))

    def _take_back(self) -> None:
        self._events.pop()
        self._last -= 1

    def carry_in(self, numbered: Numbered) -> None:
        """Under the number that it has; one that is there stays."""
        place = bisect_left(self._events, numbered.number, key=_number)
        if place < len(self._events) and self._events[place].number == numbered.number:
            return
        self._transaction.can_be_undone_by(lambda: self._events.remove(numbered))
        self._events.insert(place, numbered)
        self.count_from(numbered.number)

    def count_from(self, number: int) -> None:
        """Whatever is told from now on has a higher number."""
        before, self._last = self._last, max(self._last, number)
        self._transaction.can_be_undone_by(lambda: setattr(self, "_last", before))

    def after(self, number: int, limit: int, owner: str | None) -> tuple[Numbered, ...]:
        found: list[Numbered] = []
        for place in range(bisect_right(self._events, number, key=_number), len(self._events)):
            if len(found) == limit:
                break
            numbered = self._events[place]
            if owner is None or numbered.event.owner == owner:
                found.append(numbered)
        return tuple(found)

    def counts(self, owners: Collection[str], until: int) -> Counter[str]:
        """How many of the kept events each of these owners has up to a number."""
        kept = self._events[: bisect_right(self._events, until, key=_number)]
        return Counter(each.event.owner for each in kept if each.event.owner in owners)

    def forget(self, before: datetime, most: int) -> Counter[str]:
        """Drop the oldest ones, counted by owner; their numbers are never used again."""
        count = 0
        while count < min(most, len(self._events)) and self._events[count].event.at < before:
            count += 1
        removed = Counter(each.event.owner for each in self._events[:count])
        del self._events[:count]
        return removed
