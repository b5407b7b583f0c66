"""A store on a database server, put together; what is particular to one kind of server comes in through its door."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Final

from ...errors import StoreUnavailable
from ..task_cache import Familiar
from .agenda import ServedAgenda
from .claim import Claimer
from .connection import Door
from .journal import ServedJournal
from .queries import ServedBook
from .records import ServedRecords
from .settle import Carrier
from .transactions import Session
from .transfer import ServedMoving
from .upkeep import ServedUpkeep

SLICE: Final = 256
"""Nobody waits for a claim here but those who want the same tasks, so it may take more at once than in a file."""


class ServedStore(ServedAgenda, ServedBook, ServedUpkeep, ServedRecords, ServedJournal, ServedMoving, ABC):
    """Any number of processes on any number of machines may share it. Once closed, an object stays closed."""

    def __init__(self, door: Door, connections: int, slice_size: int = SLICE) -> None:
        self._door = door
        self._familiar = Familiar()
        # Who answers may be another server than before, and lack what the one before it had confirmed last.
        self._session = Session(door, connections, self._familiar.forget)
        self._claimer = Claimer(self._session, self._familiar, slice_size)
        self._carrier = Carrier(self._session, self._familiar)
        self._opening = asyncio.Lock()
        self._opened = self._closed = False

    @property
    def transactions(self) -> int:
        """How many times something was committed since it was opened."""
        return self._session.transactions

    @abstractmethod
    async def _prepare(self) -> None:
        """See that the server is one that will do, and bring its tables up to date."""

    async def open(self) -> None:
        async with self._opening:
            if self._closed:
                raise StoreUnavailable("The store is closed.")
            if not self._opened:
                await self._prepare()
                self._session.start()
                self._opened = True

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            await self._session.stop()
