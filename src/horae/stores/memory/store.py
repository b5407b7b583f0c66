"""In-memory store in dictionaries and heaps; its data ends with the process."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from ...errors import StoreError
from ...model.events.event import REMOVED_EVENTS, NumberedEvent
from ...ports.store import TrimResult
from ..shared_transaction_refusals import NoSharedTransactions
from .agenda import MemoryAgenda
from .data import Data
from .integrity_check import find_problems
from .journal import MemoryJournal
from .messages import MemoryMessages
from .queries import MemoryBook
from .records import MemoryRecords
from .retention import Retention
from .transfer import MemoryTransfer


class MemoryUpkeep:
    _data: Data

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        with self._data.transaction():
            self._data.drop_unused_lane_turns()
            return Retention(self._data, before, keep_runs, limit).trim_batch(after)

    async def check(self) -> tuple[str, ...]:
        with self._data.lock:
            return tuple(find_problems(self._data))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(f"The store in memory cannot be copied to {path}: it ends with its process.")

    async def read_metadata(self, name: str) -> str | None:
        with self._data.lock:
            return self._data.metadata.get(name)

    async def write_metadata(self, name: str, value: str) -> None:
        with self._data.lock:
            self._data.metadata[name] = value


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


class MemoryStore(
    MemoryAgenda,
    MemoryBook,
    MemoryFeed,
    MemoryUpkeep,
    MemoryRecords,
    MemoryJournal,
    MemoryMessages,
    MemoryTransfer,
    NoSharedTransactions,
):
    """Every call is one transaction under one lock, never suspends, and can be made from any thread."""

    kind = "memory"

    def __init__(self) -> None:
        self._data = Data()

    async def open(self) -> None:
        """Do nothing: there is no connection to open."""

    async def close(self) -> None:
        """Do nothing: other engines may still use the object, as processes share a file."""
