"""Named statements and transactions of a SQLite file, as the code that all SQL stores share calls them.

The coroutines run on the writer thread or a reader thread, where each is resumed once and never suspends.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from ...model.limits import CLAIM_SLICE
from ...model.record import RecordWrite
from ..codec.json_codecs import encode
from ..counter_deltas import Deltas
from ..run_to_end import run_to_end
from ..sql.claims.ordinary_batch import OrdinaryBatch
from ..sql.connection import DuplicateRunError, DuplicateTaskError, ReadExtent
from ..sql.dialect import Dialect
from .connection import BulkStatement, Row, SqliteConnection, sql
from .counters import write_counters
from .ordinary import write_ends, write_starts
from .readers import Readers
from .records import write_grouped
from .writer import Writer

_T = TypeVar("_T")

DIALECT: Final = Dialect(
    max_claim_slice=CLAIM_SLICE, max_decide_seconds=0.005, has_concurrent_writers=False, stores_nul=True
)
_DUPLICATE_ERRORS: Final[dict[str, type[DuplicateRunError | DuplicateTaskError]]] = {
    "insert_tasks": DuplicateTaskError,
    "update_task": DuplicateTaskError,
    "insert_started_runs": DuplicateRunError,
    "insert_laned_runs": DuplicateRunError,
    "insert_live_runs": DuplicateRunError,
    "insert_runs": DuplicateRunError,
}
"""Errors for a row that a unique index has already; the statement alone is undone, not the transaction."""
_UNIQUE_CODES: Final = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)
_LAST_TASK: Final = sql("last_task")
_INSERT_EVENTS: Final = BulkStatement("insert_events", 6)


class SqliteStatements:
    dialect = DIALECT

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    async def query(self, name: str, *values: Any) -> list[Row]:
        try:
            return run_query(self._connection, name, values)
        except apsw.ConstraintError as error:
            _raise_duplicate(name, error)
            raise

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        try:
            self._connection.write_rows(_bulk_statement(name, width), values)
        except apsw.ConstraintError as error:
            _raise_duplicate(name, error)
            raise

    async def new_task_numbers(self, count: int) -> range:
        last = max((number for (number,) in self._connection.query(_LAST_TASK)), default=0)
        return range(last + 1, last + 1 + count)

    async def write_events(self, rows: Sequence[Row]) -> None:
        self._connection.write_rows(_INSERT_EVENTS, list(chain.from_iterable(rows)))

    async def write_ordinary(self, batch: OrdinaryBatch) -> bool:
        if not batch.are_starts:
            write_ends(self._connection, batch)
            return True
        try:
            return write_starts(self._connection, batch)
        except apsw.ConstraintError as error:
            _raise_duplicate("insert_started_runs", error)
            raise

    async def write_counts(self, deltas: Deltas) -> None:
        write_counters(self._connection, deltas)

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        return write_grouped(self._connection, writings)


class SqliteSession:
    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def transact(
        self,
        work: Callable[[SqliteStatements], Awaitable[_T]],
        *,
        urgent: bool = True,
        peek: Callable[[SqliteStatements], Awaitable[_T | None]] | None = None,
    ) -> _T:
        return await self._writer.submit(
            run_on_thread(work), urgent=urgent, peek=None if peek is None else run_on_thread(peek)
        )

    async def read(self, work: Callable[[SqliteStatements], Awaitable[_T]], *, extent: ReadExtent = "page") -> _T:
        run = {"few": self._readers.run_inline, "page": self._readers.run, "all": self._readers.run_long}[extent]
        return await run(run_on_thread(work))

    async def query(self, name: str, *values: Any) -> list[Row]:
        return await self._readers.run_statement(lambda connection: run_query(connection, name, values))

    async def fetch(self, build: Callable[[list[Row]], _T], name: str, *values: Any) -> _T:
        return await self._readers.run(lambda connection: build(run_query(connection, name, values)))

    async def lookup(self, name: str, *values: Any) -> list[Row]:
        return await self._readers.run_inline(
            lambda connection: run_query(connection, name, values), single_statement=True
        )

    async def run_statement(self, work: Callable[[SqliteStatements], Awaitable[_T]]) -> _T:
        return await self._writer.submit(run_on_thread(work), autocommit=True)


class _NamedStatement(NamedTuple):
    steps: tuple[str, ...]
    bind_list: Callable[[list[Any]], Any]


def run_query(connection: SqliteConnection, name: str, values: tuple[Any, ...]) -> list[Row]:
    """Run a statement by name; returns the rows of its last step."""
    steps, bind_list = _named_statement(name)
    for value in values:
        if value.__class__ is list:
            values = tuple([bind_list(each) if each.__class__ is list else each for each in values])
            break
    rows: list[Row] = []
    for step in steps:
        rows = connection.query(step, values)
    return rows


def run_on_thread(work: Callable[[SqliteStatements], Awaitable[_T]]) -> Callable[[SqliteConnection], _T]:
    return lambda connection: run_to_end(work(SqliteStatements(connection)))


@cache
def _named_statement(name: str) -> _NamedStatement:
    """Look up a statement. A list is bound as an array if the statement has one, otherwise as JSON text."""
    steps = tuple(map(sql, STATEMENT_STEPS.get(name, (name,))))
    return _NamedStatement(steps, _bind_array if any("carray(" in step for step in steps) else encode)


def _bind_array(values: list[Any]) -> Any:
    """Return an array binding; SQLite's array function takes NULL for an empty one."""
    if not values:
        return None
    return apsw.carray(array("q", values)) if isinstance(values[0], int) else apsw.carray(tuple(values))


@cache
def _bulk_statement(name: str, width: int) -> BulkStatement:
    return BulkStatement(name, width)


def _raise_duplicate(name: str, error: apsw.ConstraintError) -> None:
    """Raise the error of a duplicate row; returns if the statement violated anything else."""
    if name in _DUPLICATE_ERRORS and getattr(error, "extendedresult", 0) in _UNIQUE_CODES:
        raise _DUPLICATE_ERRORS[name] from error


STATEMENT_STEPS: Final[dict[str, tuple[str, ...]]] = {
    "drop_definitions": (
        "delete_lane_slots_of_tasks",
        "delete_live_runs_of_tasks",
        "delete_entries_of_tasks",
        "delete_statuses_of_tasks",
        "drop_definitions",
    ),
    "delete_task": (
        "delete_lines",
        "delete_runs",
        "delete_chain_rows",
        "delete_records_of_task",
        "delete_status",
        "delete_task",
    ),
    # A write transaction excludes all others.
    "lock_chain_owner": (),
    "drop_events": ("count_removed_events", "drop_events"),
    "raise_event_number": ("first_event_number", "raise_event_number"),
    # The counters of a file are sums at any time.
    "sum_counter_deltas": (),
}
"""Statements that take several steps here and one on a server; each step takes the same values."""
