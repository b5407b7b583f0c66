"""Everything in dictionaries and heaps: fast, exact, and gone with its process."""

from __future__ import annotations

from ..no_shared_transactions import Unshared
from .agenda import MemoryAgenda
from .data import Data
from .event_reader import MemoryFeed
from .journal import MemoryJournal
from .queries import MemoryBook
from .records import MemoryRecords
from .transfer import MemoryMoving
from .upkeep import MemoryUpkeep


class MemoryStore(
    MemoryAgenda, MemoryBook, MemoryFeed, MemoryUpkeep, MemoryRecords, MemoryJournal, MemoryMoving, Unshared
):
    """No call ever waits for anything, and any thread may make it: one lock makes each of them one transaction."""

    def __init__(self) -> None:
        self._data = Data()

    async def open(self) -> None:
        """There is nothing to make ready."""

    async def close(self) -> None:
        """There is nothing to let go: others may hold the same store, as processes share a file."""
