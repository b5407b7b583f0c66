"""Everything in dictionaries and heaps: fast, exact, and gone with its process."""

from __future__ import annotations

from ..unshared import Unshared
from .agenda import MemoryAgenda
from .book import MemoryBook
from .data import Data
from .feed import MemoryFeed
from .journal import MemoryJournal
from .moving import MemoryMoving
from .records import MemoryRecords
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
