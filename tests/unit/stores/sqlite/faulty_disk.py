"""SQLite VFS whose writes and syncs of the WAL fail on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import apsw

from horae.errors import StoreFull
from horae.stores.sqlite import SQLiteStore
from horae.testing.factories import a_new_task, a_task


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log and self._disk.sync_error is not None:
            raise self._disk.sync_error
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log and self._disk.write_error is not None:
            raise self._disk.write_error
        super().xWrite(data, offset)


class Disk(apsw.VFS):
    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.name = name
        self.sync_error: apsw.Error | None = None
        self.write_error: apsw.Error | None = None

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _File:  # noqa: N802 - SQLite's name
        return _File(self, name, flags)

    @contextmanager
    def failing(self, *, sync: apsw.Error | None = None, write: apsw.Error | None = None) -> Iterator[None]:
        self.sync_error, self.write_error = sync, write
        try:
            yield
        finally:
            self.sync_error = self.write_error = None


async def limit_growth(store: SQLiteStore, more: int) -> None:
    """Let the file grow by at most `more` pages."""
    await store._writer.submit(
        lambda link: link.query(f"PRAGMA max_page_count = {link.query('PRAGMA page_count')[0][0] + more}")
    )


async def fill_store(store: SQLiteStore) -> int:
    """Add large tasks until the store is full; return their number."""
    for added in count():
        try:
            await store.add([a_new_task(a_task(key=str(added), payload='"' + "x" * 5_000 + '"'))])
        except StoreFull:
            return added
    raise AssertionError
