"""One SQLite file: one thread writes and answers when it is on the disk, others read beside it."""

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

_WRITER_CACHE: Final = 16_384
_READER_CACHE: Final = 4_096
"""Kilobytes."""


class SQLiteStore(
    SQLiteAgenda, SQLiteBook, SQLiteFeed, SQLiteUpkeep, SQLiteRecords, SQLiteJournal, SQLiteMoving, SQLiteUsing
):
    """Several processes may share the file; each has its own store object. Once closed, an object stays closed."""

    def __init__(self, path: str | PathLike[str], *, vfs: str | None = None) -> None:
        self.path: Final = fspath(path)
        self._place = str(Path(self.path).absolute())
        self._vfs = vfs
        self._familiar = Familiar()
        self._seen = Familiar()
        self._claimer = Claimer(self._familiar)
        self._carrier = Carrier(self._familiar)
        self._writer = Writer(self._writing_link, self._familiar.forget)
        self._readers = Readers(self._reading_link)
        self._watch = Watch(self._writer)
        self._opening = asyncio.Lock()
        self._opened = self._closed = False

    @property
    def statements(self) -> int:
        """How many statements have been run since it was opened."""
        return self._writer.statements + self._readers.statements

    @property
    def transactions(self) -> int:
        """How many times something was committed since it was opened."""
        return self._writer.transactions

    async def open(self) -> None:
        async with self._opening:
            if self._closed:
                raise StoreUnavailable("The store is closed.")
            if not self._opened:
                refuse_an_old_library()
                await self._writer.start()
                self._readers.start()
                self._opened = True

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            await self._readers.stop()
            await self._writer.stop()

    def _writing_link(self) -> Link:
        try:
            make_file(self._place)
            turnstile = Turnstile(self._place)
            link = Link(self._place, vfs=self._vfs, cache_kilobytes=_WRITER_CACHE, turnstile=turnstile)
            try:
                bring_up_to_date(link)
            except BaseException:
                link.close()
                raise
        except OSError as error:
            raise StoreUnavailable(f"The file {self.path} cannot be made: {error}.") from error
        return link

    def _reading_link(self) -> Link:
        return Link(self._place, vfs=self._vfs, cache_kilobytes=_READER_CACHE, read_only=True)
