"""Connection to the SQLite file: statements by name, busy handling, and translation of SQLite's errors."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Event
from time import perf_counter
from typing import Any, Final, TypeAlias

import apsw

from ...clock import Clock
from ...errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ..named_sql import expand_columns, read_blocks
from .file_lock import FileLock

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
        clock: Clock,
        vfs: str | None = None,
        cache_kilobytes: int,
        read_only: bool = False,
        file_lock: FileLock | None = None,
    ) -> None:
        """`clock` decides which counters are old. Lock waits are real time, because another process holds the lock.

        `file_lock` orders the write transactions of several processes; a reader needs none.
        """
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        # One thread at a time uses a connection, so SQLite need not lock it in each of hundreds of calls per run.
        flags |= apsw.SQLITE_OPEN_NOMUTEX
        self.raw = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=_STATEMENT_CACHE_SIZE)
        self.clock: Clock = clock
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

    def query_when_free(self, statement: str) -> list[Row]:
        """Run a statement to which SQLite's busy handler does not apply; retried with the same interval and timeout."""
        since = perf_counter()
        while True:
            try:
                return self.query(statement)
            except apsw.BusyError:
                if perf_counter() - since > self._busy_seconds:
                    raise
            self._sleeper.wait(_RETRY_SECONDS)

    def write_rows(self, bulk: BulkStatement, values: list[Any], common: Sequence[Any] = ()) -> None:
        """Write many rows; `values` are the values of all rows, concatenated, after those that they have in common."""
        for text, start, end in bulk.split(len(values)):
            self.statements += 1
            self._cursor.execute(text, [*common, *values[start:end]] if common else values[start:end])

    def write_returning(self, bulk: BulkStatement, values: list[Any]) -> list[Row]:
        """Write many rows with a statement that has a RETURNING clause, and return its rows."""
        return [row for text, start, end in bulk.split(len(values)) for row in self.query(text, values[start:end])]

    @contextmanager
    def busy_timeout(self, seconds: float) -> Iterator[None]:
        """Use another busy timeout within the block."""
        self.set_busy_timeout(seconds)
        try:
            yield
        finally:
            self.set_busy_timeout(None)

    def set_busy_timeout(self, seconds: float | None) -> None:
        """Set the busy timeout; None: the default again."""
        self._busy_seconds = _BUSY_SECONDS if seconds is None else seconds

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

    def on_wal(self, callback: Callable[[int], None]) -> None:
        """Call `callback` after each commit with the number of pages in the log; disables automatic checkpoints."""

        def hook(_connection: apsw.Connection, _database: str, pages: int) -> int:
            callback(pages)
            return apsw.SQLITE_OK

        self.raw.set_wal_hook(hook)

    def close(self) -> None:
        self.raw.close()
        self._file_lock.close()


_NO_SPACE_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY_ERRNOS: Final = frozenset({errno.EROFS})


def translate_error(error: apsw.Error) -> StoreError:
    """Return the store error for an error of SQLite; the caller raises it from the original."""
    if isinstance(error, apsw.FullError) or _has_errno(error, _NO_SPACE_ERRNOS):
        return StoreFull(f"There is no space left for another write: {error}.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(f"The file is damaged, or is not a store of Horae: {error}.")
    if isinstance(error, apsw.ReadOnlyError) or _has_errno(error, _READ_ONLY_ERRNOS):
        return StoreReadOnly(f"The file takes no writes: {error}.")
    if isinstance(error, apsw.ConstraintError):
        return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {error}.")
    if isinstance(error, apsw.IOError):
        # The write may have reached the disk although the confirmation failed.
        return StoreUnavailable(f"The file could not be read or written, and a last write may have been kept: {error}.")
    return StoreUnavailable(f"The file could not be read or written: {error}.")


def _has_errno(error: apsw.Error, errnos: frozenset[int]) -> bool:
    """Return whether an I/O error has one of these system codes: a full or read-only file system reports I/O errors."""
    return isinstance(error, apsw.IOError) and getattr(error, "system_errno", 0) in errnos


STATEMENTS: Final = read_blocks(__package__)


@cache
def sql(name: str) -> str:
    """Return a statement by name, with its shared column lists expanded."""
    return expand_columns(name, STATEMENTS)


class BulkStatement:
    """A statement that writes many rows at once.

    Up to `EACH` rows there is a text for every size, so that one statement writes all rows: after each statement the
    thread has to get the GIL again, while it holds the write lock. Above that, sizes are powers of two. Each text is
    compiled once and kept in the statement cache.
    """

    MAX_ROWS: Final = 128
    MAX_EXACT_ROWS: Final = 32

    def __init__(self, name: str, width: int) -> None:
        self._width = width
        self._row = f"({', '.join('?' * width)})"
        self._statement = sql(name)
        self._texts: dict[int, str] = {}

    def split(self, count: int) -> Iterator[tuple[str, int, int]]:
        """Yield the statements for `count` values as (text, start, end) of their slice of the values."""
        start = 0
        while start < count:
            size = self._size((count - start) // self._width)
            text = self._texts.get(size)
            if text is None:
                text = self._texts[size] = self._statement.replace("{rows}", ", ".join([self._row] * size))
            yield text, start, start + size * self._width
            start += size * self._width

    def _size(self, rows: int) -> int:
        return rows if rows <= self.MAX_EXACT_ROWS else min(self.MAX_ROWS, 1 << (rows.bit_length() - 1))
