"""Connection to the SQLite file, used by one thread at a time, with busy handling and a count of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import Any, Final, TypeAlias

import apsw

from .file_lock import FileLock
from .statements import BulkStatement

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[Any] | Mapping[str, Any]

_STATEMENT_CACHE_SIZE: Final = 1_024
"""More than there are statements, so that none is evicted and compiled again."""
_BUSY_SECONDS: Final = 10.0
"""Busy timeout while another process writes; each of its transactions takes a few milliseconds."""
_RETRY_SECONDS: Final = 0.0003
"""Interval between attempts to get the lock; SQLite's own busy handler waits up to 100 ms."""


class SqliteConnection:
    def __init__(
        self,
        path: str,
        *,
        vfs: str | None = None,
        cache_kilobytes: int,
        read_only: bool = False,
        file_lock: FileLock | None = None,
    ) -> None:
        """`file_lock` orders the write transactions of several processes; a reader needs none."""
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.raw = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=_STATEMENT_CACHE_SIZE)
        self.statements = 0
        self.newest_hour = 0
        """Latest hour with a counter write on this connection; each new hour triggers the deletion of old counters."""
        self._cursor = self.raw.cursor()
        self._file_lock = file_lock or FileLock(None)
        self._busy_seconds = _BUSY_SECONDS
        self._busy_since = 0.0
        self._sleeper = Event()
        try:
            self._set_up(cache_kilobytes)
        except BaseException:
            self.raw.close()
            raise

    def _set_up(self, cache_kilobytes: int) -> None:
        self.raw.set_busy_handler(self._handle_busy)
        # Query planner stability: otherwise statements are compiled again for new bound values, which costs more than
        # running them.
        self.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.query(f"PRAGMA cache_size = -{cache_kilobytes}")
        # Statement journals are kept in memory; on disk they would be half of all writes.
        self.query("PRAGMA temp_store = MEMORY")

    def query(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement and fetch all rows: an open cursor would make the next COMMIT fail."""
        self.statements += 1
        return self._cursor.execute(statement, bindings).fetchall()

    def write_rows(self, bulk: BulkStatement, values: list[Any]) -> None:
        """Write many rows; `values` are the values of all rows, concatenated."""
        for text, start, end in bulk.split(len(values)):
            self.statements += 1
            self._cursor.execute(text, values[start:end])

    def write_returning(self, bulk: BulkStatement, values: list[Any]) -> list[Row]:
        """Write many rows with a statement that has a RETURNING clause, and return its rows."""
        return [row for text, start, end in bulk.split(len(values)) for row in self.query(text, values[start:end])]

    def write_each(self, statement: str, rows: Sequence[Row]) -> None:
        if rows:
            self.statements += len(rows)
            self._cursor.executemany(statement, rows)

    @contextmanager
    def busy_timeout(self, seconds: float) -> Iterator[None]:
        """Use another busy timeout within the block."""
        self._busy_seconds = seconds
        try:
            yield
        finally:
            self._busy_seconds = _BUSY_SECONDS

    def begin(self) -> None:
        """Begin a write transaction, in the order in which the file lock serves the waiting processes."""
        with self._file_lock.hold():
            self.query("BEGIN IMMEDIATE")

    def _handle_busy(self, attempts: int) -> bool:
        """Busy handler of SQLite: wait a moment and return whether to try again."""
        now = perf_counter()
        if attempts == 0:
            self._busy_since = now
        self._sleeper.wait(_RETRY_SECONDS)
        return now - self._busy_since < self._busy_seconds

    def reset_statement_count(self) -> int:
        """Return the number of statements since the last call, and reset it."""
        count, self.statements = self.statements, 0
        return count

    @property
    def in_transaction(self) -> bool:
        return self.raw.in_transaction

    @property
    def changed_rows(self) -> int:
        """Number of rows that the last statement changed."""
        return self.raw.changes()

    def on_wal(self, callback: Callable[[int], None]) -> None:
        """Call `callback` after each commit with the number of pages in the log; disables automatic checkpoints."""

        def hook(_connection: apsw.Connection, _database: str, pages: int) -> int:
            callback(pages)
            return apsw.SQLITE_OK

        self.raw.set_wal_hook(hook)

    def close(self) -> None:
        self.raw.close()
        self._file_lock.close()
