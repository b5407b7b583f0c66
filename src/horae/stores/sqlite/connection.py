"""One connection to the file, used by one thread at a time; it counts what it is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import Any, Final, TypeAlias

import apsw

from .file_lock import Turnstile
from .statements import Bulk

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[Any] | Mapping[str, Any]

_KEPT_STATEMENTS: Final = 1_024
"""More than there are: one that is not among so many that were used last is thrown away."""
_BUSY_SECONDS: Final = 10.0
"""How long to wait for another process that is writing; each of its transactions takes a few milliseconds."""
_GLANCE: Final = 0.0003
"""How often to look meanwhile: SQLite's own way waits up to a tenth of a second between two looks."""


class Link:
    def __init__(
        self,
        path: str,
        *,
        vfs: str | None = None,
        cache_kilobytes: int,
        read_only: bool = False,
        turnstile: Turnstile | None = None,
    ) -> None:
        """`turnstile` is for those who begin to write."""
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.connection = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=_KEPT_STATEMENTS)
        self.statements = 0
        self.newest_hour = 0
        """The last hour for which something was counted here: with each new one, old ones may be forgotten."""
        self._cursor = self.connection.cursor()
        self._turnstile = turnstile or Turnstile(None)
        self._patience = _BUSY_SECONDS
        self._waits_since = 0.0
        self._never = Event()
        try:
            self._set_up(cache_kilobytes)
        except BaseException:
            self.connection.close()
            raise

    def _set_up(self, cache_kilobytes: int) -> None:
        self.connection.set_busy_handler(self._wait_a_little)
        # Plans that may depend on what is bound are made again for every binding, and cost more than the statement.
        self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.query(f"PRAGMA cache_size = -{cache_kilobytes}")
        # What a statement may have to take back is kept in memory: on the disk it would be half of all that is written.
        self.query("PRAGMA temp_store = MEMORY")

    def query(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Every row is fetched: a cursor left open would make the next COMMIT fail."""
        self.statements += 1
        return self._cursor.execute(statement, bindings).fetchall()

    def write_rows(self, bulk: Bulk, values: list[Any]) -> None:
        """`values` are those of all rows, one after the other."""
        for text, start, end in bulk.parts(len(values)):
            self.statements += 1
            self._cursor.execute(text, values[start:end])

    def write_telling(self, bulk: Bulk, values: list[Any]) -> list[Row]:
        """The same of a statement that says what it has written."""
        return [row for text, start, end in bulk.parts(len(values)) for row in self.query(text, values[start:end])]

    def write_each(self, statement: str, rows: Sequence[Row]) -> None:
        if rows:
            self.statements += len(rows)
            self._cursor.executemany(statement, rows)

    @contextmanager
    def impatient(self, seconds: float) -> Iterator[None]:
        """Whoever is in the way is waited for only so long."""
        self._patience = seconds
        try:
            yield
        finally:
            self._patience = _BUSY_SECONDS

    def begin(self) -> None:
        """A transaction that writes. Whoever waits for it is next."""
        with self._turnstile.passing():
            self.query("BEGIN IMMEDIATE")

    def _wait_a_little(self, looks: int) -> bool:
        """Whether to look again for the lock that somebody else has."""
        now = perf_counter()
        if looks == 0:
            self._waits_since = now
        self._never.wait(_GLANCE)
        return now - self._waits_since < self._patience

    def take_count(self) -> int:
        """How many statements there were since this was last asked."""
        count, self.statements = self.statements, 0
        return count

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @property
    def changed(self) -> int:
        """How many rows the last statement wrote or removed."""
        return self.connection.changes()

    def on_wal(self, told: Callable[[int], None]) -> None:
        """After each commit, `told` hears how many pages the write-ahead log has; nothing is checkpointed by itself."""

        def hook(_connection: apsw.Connection, _database: str, pages: int) -> int:
            told(pages)
            return apsw.SQLITE_OK

        self.connection.set_wal_hook(hook)

    def close(self) -> None:
        self.connection.close()
        self._turnstile.close()
