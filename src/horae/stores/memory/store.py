"""In-memory store in dictionaries and heaps; its data ends with the process."""

from __future__ import annotations

from ..no_shared_transactions import NoSharedTransactions
from .agenda import MemoryAgenda
from .data import Data
from .event_reader import MemoryFeed
from .journal import MemoryJournal
from .messages import MemoryMessages
from .queries import MemoryBook
from .records import MemoryRecords
from .transfer import MemoryTransfer
from .upkeep import MemoryUpkeep


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
