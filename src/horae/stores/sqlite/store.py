"""SQLite store: one writer thread with group commit, and a pool of readers on the same file."""

from __future__ import annotations

import asyncio
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from ...clock import Clock, SystemClock
from ...errors import StoreUnavailable
from ..codec.transfer_rows import RUNS_BY_NUMBER
from ..sql.agenda import SQLAgenda
from ..sql.claims.claim import Claimer
from ..sql.connection import Transactions
from ..sql.journal import SQLJournal
from ..sql.messages import SQLMessages
from ..sql.records import SQLRecords
from ..sql.settle import RunUpdater
from ..sql.transfer import SQLTransfer
from ..task_cache import TaskCache
from .connection import SqliteConnection
from .file_lock import FileLock
from .migrate import create_file, migrate, require_supported_version
from .queries import SQLiteBook
from .readers import Readers
from .session import DIALECT, SqliteSession
from .shared_transactions import SQLiteSharedTransactions, TransactionWatcher
from .upkeep import SQLiteUpkeep
from .writer import Writer

_WRITER_CACHE_KILOBYTES: Final = 16_384
_READER_CACHE_KILOBYTES: Final = 4_096


class SQLiteStore(
    SQLAgenda,
    SQLiteBook,
    SQLiteUpkeep,
    SQLRecords,
    SQLJournal,
    SQLMessages,
    SQLTransfer,
    SQLiteSharedTransactions,
):
    """Store object of one process; several processes can share the file. A closed store cannot be opened again.

    `clock` decides which counters are old, and at an upgrade which nodes are live; the default is the system clock.
    """

    kind = "sqlite"
    # By run number: one planned instant may have a million runs, and no index orders those.
    _ended_run_rows = RUNS_BY_NUMBER

    def __init__(self, path: str | PathLike[str], *, clock: Clock | None = None, vfs: str | None = None) -> None:
        self.path: Final = fspath(path)
        self._absolute_path = str(Path(self.path).absolute())
        self._clock: Clock = SystemClock() if clock is None else clock
        self._vfs = vfs
        self._task_cache = TaskCache()
        self._read_cache = TaskCache()
        self._writer = Writer(self._open_writer_connection)
        self._readers = Readers(self._open_reader_connection)
        self._database: Transactions = SqliteSession(self._writer, self._readers)
        self._claimer = Claimer(self._database, self._task_cache, DIALECT)
        self._run_updater = RunUpdater(self._database, self._task_cache)
        self._watch = TransactionWatcher(self._writer)
        self._open_lock = asyncio.Lock()
        self._opened = self._closed = False

    @property
    def statements(self) -> int:
        """Number of statements since the store was opened."""
        return self._writer.statements + self._readers.statements

    @property
    def transactions(self) -> int:
        """Number of commits since the store was opened."""
        return self._writer.transactions

    async def open(self) -> None:
        async with self._open_lock:
            if self._closed:
                raise StoreUnavailable("The store is closed.")
            if not self._opened:
                require_supported_version()
                await self._writer.start()
                self._readers.start()
                self._opened = True

    async def close(self) -> None:
        async with self._open_lock:
            self._closed = True
            await self._readers.stop()
            await self._writer.stop()

    def _open_writer_connection(self) -> SqliteConnection:
        try:
            create_file(self._absolute_path)
            file_lock = FileLock(self._absolute_path)
            connection = SqliteConnection(
                self._absolute_path,
                clock=self._clock,
                vfs=self._vfs,
                cache_kilobytes=_WRITER_CACHE_KILOBYTES,
                file_lock=file_lock,
            )
            try:
                migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise StoreUnavailable(f"The file {self.path} cannot be made: {error}.") from error
        return connection

    def _open_reader_connection(self) -> SqliteConnection:
        return SqliteConnection(
            self._absolute_path,
            clock=self._clock,
            vfs=self._vfs,
            cache_kilobytes=_READER_CACHE_KILOBYTES,
            read_only=True,
        )
