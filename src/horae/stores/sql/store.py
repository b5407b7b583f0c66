"""Store on a database server: combines the ports; the connection factory supplies what differs between servers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from ...clock import Clock
from ...errors import StoreError, StoreUnavailable
from ..task_cache import TaskCache
from .agenda import SQLAgenda
from .claims.claim import Claimer
from .connection import ConnectionFactory, Transactions
from .dialect import Dialect
from .journal import SQLJournal
from .messages import SQLMessages
from .reads.queries import SQLBook
from .records import SQLRecords
from .settle import RunUpdater
from .transactions import Session
from .transfer import SQLTransfer
from .upkeep import SQLUpkeep


class SQLStore(SQLAgenda, SQLBook, SQLUpkeep, SQLRecords, SQLJournal, SQLMessages, SQLTransfer, ABC):
    """Can be shared by any number of processes on any number of machines. Once closed, a store cannot be reopened.

    `clock` decides which counters are old. Which nodes are live at an upgrade is decided by the clock of the server, to
    which the nodes correct theirs.
    """

    def __init__(self, factory: ConnectionFactory, connections: int, clock: Clock, dialect: Dialect) -> None:
        self._factory = factory
        self._clock = clock
        self._task_cache = TaskCache()
        self._read_cache = TaskCache()
        self._session = Session(factory, clock, connections, self._clear_caches)
        self._database: Transactions = self._session
        self._claimer = Claimer(self._session, self._task_cache, dialect)
        self._run_updater = RunUpdater(self._session, self._task_cache)
        self._lifecycle_lock = asyncio.Lock()
        self._opened = self._closed = False

    def _clear_caches(self) -> None:
        """Forget all tasks: a new connection may reach another server (failover) that lacks the last commits."""
        self._task_cache.clear()
        self._read_cache.clear()

    @property
    def transactions(self) -> int:
        """Number of commits since the store was opened."""
        return self._session.transactions

    @abstractmethod
    async def _prepare(self) -> None:
        """Check that the server is supported and migrate its tables."""

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(
            "A database server is backed up by its own tools (pg_dump, mariadb-dump); "
            "`horae move FROM_URL sqlite:///FILE` copies a deployment into a file."
        )

    async def open(self) -> None:
        async with self._lifecycle_lock:
            if self._closed:
                raise StoreUnavailable("The store is closed.")
            if not self._opened:
                await self._prepare()
                self._session.start()
                self._opened = True

    async def close(self) -> None:
        async with self._lifecycle_lock:
            self._closed = True
            await self._session.stop()
