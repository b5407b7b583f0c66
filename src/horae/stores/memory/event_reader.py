"""Feed port of the in-memory store: reads of the event log by number and owner."""

from __future__ import annotations

from collections.abc import Collection

from ...model.events.event import REMOVED_EVENTS, NumberedEvent
from .data import Data


class MemoryFeed:
    _data: Data

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        with self._data.lock:
            return self._data.events.read_after(after, limit, owner)

    async def last_event(self) -> int:
        with self._data.lock:
            return self._data.events.last_number

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        with self._data.lock:
            stored = self._data.events.count_by_owner(frozenset(owners), until)
            return {owner: self._removed_count(owner) + stored[owner] for owner in owners}

    def _removed_count(self, owner: str) -> int:
        record = self._data.records.get((REMOVED_EVENTS, owner))
        return 0 if record is None else int(record.body)
