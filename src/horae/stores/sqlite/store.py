"""SQLite store: one writer thread with group commit, and a pool of readers on the same file."""

from __future__ import annotations

import asyncio
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from ...errors import StoreUnavailable
from ..task_cache import Familiar
from .agenda import SQLiteAgenda
from .claim import Claimer
from .connection import Link
from .event_reader import SQLiteFeed
from .file_lock import Turnstile
from .journal import SQLiteJournal
from .migrate import bring_up_to_date, make_file
from .queries import SQLiteBook
from .readers import Readers
from .records import SQLiteRecords
from .settle import Carrier
from .shared_transactions import SQLiteUsing, Watch
from .sqlite_version import refuse_an_old_library
from .transfer import SQLiteMoving
from .upkeep import SQLiteUpkeep
from .writer import Writer

_WRITER_CACHE_KILOBYTES: Final = 16_384
_READER_CACHE_KILOBYTES: Final = 4_096


class SQLiteStore(
    SQLiteAgenda, SQLiteBook, SQLiteFeed, SQLiteUpkeep, SQLiteRecords, SQLiteJournal, SQLiteMoving, SQLiteUsing
):
    """Store object of one process; several processes can share the file. A closed store cannot be opened again."""

    def __init__(self, path: str | PathLike[str], *, vfs: str | None = None) -> None:
        self.path: Final = fspath(path)
        self._absolute_path = str(Path(self.path).absolute())
        self._vfs = vfs
        self._task_cache = Familiar()
        self._read_cache = Familiar()
        self._claimer = Claimer(self._task_cache)
        self._run_updater = Carrier(self._task_cache)
        self._writer = Writer(self._open_writer_connection, self._task_cache.clear)
        self._readers = Readers(self._open_reader_connection)
        self._watch = Watch(self._writer)
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
                refuse_an_old_library()
                await self._writer.start()
                self._readers.start()
                self._opened = True

    async def close(self) -> None:
        async with self._open_lock:
            self._closed = True
            await self._readers.stop()
            await self._writer.stop()

    def _open_writer_connection(self) -> Link:
        try:
            make_file(self._absolute_path)
            file_lock = Turnstile(self._absolute_path)
            connection = Link(
                self._absolute_path, vfs=self._vfs, cache_kilobytes=_WRITER_CACHE_KILOBYTES, file_lock=file_lock
            )
            try:
                bring_up_to_date(connection)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise StoreUnavailable(f"The file {self.path} cannot be made: {error}.") from error
        return connection

    def _open_reader_connection(self) -> Link:
        return Link(self._absolute_path, vfs=self._vfs, cache_kilobytes=_READER_CACHE_KILOBYTES, read_only=True)
