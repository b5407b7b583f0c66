"""Tasks added in the caller's transaction (`using=`), on the caller's own connection, whose settings are not changed; and a
watcher that reports when that transaction has ended."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import apsw

from ...clock import Clock
from ...errors import StoreError, StoreUnavailable
from ...model.change import Change
from ..run_to_end import run_to_end
from ..shared_transaction_refusals import refuse
from ..sql.reads.queries import add_tasks
from ..sqlalchemy_connection import DriverConnection, find_driver_connection
from .connection import Bindings, BulkStatement, Row, SqliteConnection, translate_error
from .session import SqliteStatements
from .writer import Writer

_PROBE_SECONDS: Final = 0.25
"""Longest time that one probe occupies the writer, which could write nothing during it anyway."""


class TransactionWatcher:
    """Runs callbacks when the callers' transactions in which tasks were added have ended.

    Only one connection at a time can write to the file, and a caller that added tasks holds the write lock until its
    transaction ends. So once the writer gets the lock, the transaction has ended, committed or not.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._callbacks: list[Callable[[], None]] = []
        self._watcher: asyncio.Task[None] | None = None

    def on_end(self, over: Callable[[], None]) -> None:
        self._callbacks.append(over)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._callbacks:
            try:
                over = await self._writer.submit(self._take_callbacks, peek=self._probe, urgent=False)
            except StoreError:
                # The store is closed or unavailable: the engines find added tasks by polling.
                return
            for callback in over:
                callback()

    def _probe(self, connection: SqliteConnection) -> list[Callable[[], None]]:
        """Try to get the write lock, on the writer's thread; returns no callbacks while another connection has it."""
        with connection.busy_timeout(_PROBE_SECONDS):
            try:
                connection.query("BEGIN IMMEDIATE")
            except apsw.BusyError:
                return []
        over = self._take_callbacks(connection)
        connection.query("COMMIT")
        return over

    def _take_callbacks(self, _connection: SqliteConnection) -> list[Callable[[], None]]:
        """Return all waiting callbacks; the writer's transaction is open, so no caller's transaction is."""
        over, self._callbacks = self._callbacks, []
        return over


class SQLiteSharedTransactions:
    _absolute_path: str
    """Path of the file that stays valid when the working directory changes."""
    _clock: Clock
    _watch: TransactionWatcher
    _opened: bool
    _closed: bool

    @property
    def shares_transactions(self) -> bool:
        return True

    async def add_using(self, connection: object, changes: Sequence[Change], on_end: Callable[[], None]) -> None:
        """Add tasks in the transaction of `connection`, on the calling thread; `over` is called after it has ended."""
        if self._closed or not self._opened:
            raise StoreUnavailable("The store is closed.")
        from .shared_transactions import begin_if_needed, join_transaction  # noqa: PLC0415 - it imports sqlite3, which is rarely needed

        driver = await find_driver_connection(connection)
        try:
            await begin_if_needed(driver)
            with join_transaction(driver.connection, self._absolute_path, self._clock, driver.name) as joined:
                if not changes:
                    return
                with joined.savepoint():
                    run_to_end(add_tasks(SqliteStatements(joined), changes))
        except apsw.BusyError as error:
            raise refuse("busy_transaction") from error
        except apsw.Error as error:
            raise translate_error(error) from error
        self._watch.on_end(on_end)


SQLiteConnection: TypeAlias = apsw.Connection | sqlite3.Connection

_EXPECTED_CONNECTION: Final = "an open apsw.Connection (sqlite3 only where both share one SQLite library)"
_TABLES: Final = "agenda|chain_rows|counters|events|lane_slots|records|runs|sqlite_sequence|task_state|tasks"
_TABLE_REFERENCE: Final = re.compile(rf"\b(FROM|INTO|JOIN|UPDATE) ({_TABLES})\b")
_MAX_CACHED_STATEMENTS: Final = 256


class CallerConnection(SqliteConnection):
    """Adapter that runs the statements for adding tasks on the caller's connection.

    No setting is changed, and every table is qualified with its schema: the caller may have tables of the same name in
    another attached file or as temporary tables.
    """

    def __init__(self, connection: SQLiteConnection, clock: Clock) -> None:
        self.clock: Clock = clock
        self.statements = 0
        self.newest_hour = 0
        self._caller_connection = connection
        self._schema = "main"
        self._cursor: Any = _open_plain_cursor(connection)

    def find_schema(self, path: str) -> None:
        """Find the schema of the file at `path` (main or attached); raises a refusal if the connection lacks it."""
        database = _normalize_path(path)
        for _, name, file in self.query("PRAGMA database_list"):
            if file and _normalize_path(file) == database:
                self._schema = name
                return
        raise refuse("another_database", place=path)

    def query(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        with _translate_sqlite3_errors():
            rows = super().query(_qualify_tables(statement, self._schema), bindings)
        return [tuple(map(_decode_text, row)) for row in rows]

    def write_rows(self, bulk: BulkStatement, values: list[Any], common: Sequence[Any] = ()) -> None:
        for text, start, end in bulk.split(len(values)):
            self.query(text, [*common, *values[start:end]])

    @property
    def in_transaction(self) -> bool:
        return self._caller_connection.in_transaction

    def close(self) -> None:
        """Close the cursor; the caller's connection stays open."""
        self._cursor.close()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Run a savepoint in the caller's transaction, which stays usable after a failure."""
        self.query("SAVEPOINT horae_adds")
        try:
            yield
        except BaseException:
            # When the disk is full, SQLite may have rolled back the whole transaction.
            with suppress(apsw.Error):
                if self.in_transaction:
                    self.query("ROLLBACK TO horae_adds")
                    self.query("RELEASE horae_adds")
            raise
        self.query("RELEASE horae_adds")


async def begin_if_needed(driver: DriverConnection) -> None:
    """Begin the SQLite transaction of a SQLAlchemy connection, whose own transaction starts before SQLite's."""
    connection = _sqlite_connection(driver.connection, driver.name)
    if driver.begin is not None and not connection.in_transaction:
        try:
            await driver.begin("BEGIN IMMEDIATE")
        except Exception as error:
            if "locked" in str(getattr(error, "orig", "")):
                raise refuse("busy_transaction") from error
            raise


def _sqlite_connection(connection: object, name: str) -> SQLiteConnection:
    """Return a checked SQLite connection; refuse other objects, and one of another copy of SQLite in this process."""
    if isinstance(connection, sqlite3.Connection):
        if not shares_library():
            raise refuse("another_library", theirs=sqlite3.sqlite_version, ours=apsw.sqlite_lib_version())
    elif not isinstance(connection, apsw.Connection):
        raise refuse("wrong_connection", came=name, wanted=_EXPECTED_CONNECTION)
    return connection


@contextmanager
def join_transaction(
    connection: object, path: str, clock: Clock, name: str | None = None
) -> Iterator[CallerConnection]:
    """Join the caller's transaction on the file at `path`; refused if the connection is unusable or has no transaction."""
    checked = _sqlite_connection(connection, f"A {type(connection).__name__}" if name is None else name)
    try:
        joined = CallerConnection(checked, clock)
        in_transaction = joined.in_transaction
    except (apsw.ConnectionClosedError, sqlite3.ProgrammingError) as error:
        raise _refuse_unusable(error) from error
    with closing(joined):
        joined.find_schema(path)
        if not in_transaction:
            raise refuse("no_transaction", begin="connection.execute('BEGIN IMMEDIATE')")
        yield joined


@cache
def shares_library() -> bool:
    """Return whether sqlite3 and apsw use one SQLite library: a VFS registered by one is then known to the other.

    Two copies in one process do not see each other's file locks, whatever their versions.
    """
    name = "horae-one-library"
    probe = apsw.VFS(name, "")
    try:
        sqlite3.connect(f"file:probe?mode=memory&vfs={name}", uri=True).close()
    except sqlite3.OperationalError:
        return False
    finally:
        probe.unregister()
    return True


@contextmanager
def _translate_sqlite3_errors() -> Iterator[None]:
    """Raise errors of sqlite3 as the apsw errors that the rest of the store handles."""
    try:
        yield
    except sqlite3.Error as error:
        if not hasattr(error, "sqlite_errorcode"):
            raise _refuse_unusable(error) from error
        raise apsw.exception_for(error.sqlite_errorcode) from error


def _refuse_unusable(error: Exception) -> Exception:
    if "thread" in str(error):
        return refuse(
            "another_thread",
            how="Open it with check_same_thread=False, or with apsw.Connection(path)",
            how_zh="请用 check_same_thread=False 打开，或使用 apsw.Connection(path)",
        )
    return refuse("wrong_connection", came="A connection that is closed", wanted=_EXPECTED_CONNECTION)


@lru_cache(_MAX_CACHED_STATEMENTS)
def _qualify_tables(statement: str, schema: str) -> str:
    quoted = schema.replace('"', '""')
    return _TABLE_REFERENCE.sub(lambda match: f'{match[1]} "{quoted}".{match[2]}', statement)


def _open_plain_cursor(connection: SQLiteConnection) -> apsw.Cursor | sqlite3.Cursor:
    """Open a cursor that returns plain tuples, without the caller's row factory or row trace."""
    if isinstance(connection, sqlite3.Connection):
        sqlite3_cursor = sqlite3.Cursor(connection)
        sqlite3_cursor.row_factory = None
        return sqlite3_cursor
    cursor = apsw.Cursor(connection)
    cursor.row_trace = _unchanged_row
    return cursor


def _decode_text(value: Any) -> Any:
    """Return text that a text factory of the caller has left as bytes; Horae's tables contain no other bytes."""
    return os.fsdecode(bytes(value)) if isinstance(value, bytes | bytearray) else value


def _normalize_path(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _unchanged_row(_cursor: apsw.Cursor, row: Row) -> Row:
    return row
