"""Named statements and transactions of a SQLite file, as the code that all SQL stores share calls them.

The coroutines run on the writer thread or a reader thread, where each is resumed once and never suspends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cache
from typing import Any, Final, TypeVar, cast

from ...model.record import RecordWrite
from .connection import BulkStatement, Row, SqliteConnection, sql
from .load_facts import bind_names, bind_numbers
from .readers import Readers
from .records import write_grouped
from .row_batches import write_counters
from .writer import Writer

_T = TypeVar("_T")


class SqliteStatements:
    stores_nul = True

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    async def query(self, name: str, *values: Any) -> list[Row]:
        return run_query(self._connection, name, values)

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        self._connection.write_rows(_bulk_statement(name, width), values)

    async def write_counts(self, deltas: Counter[tuple[str, int, str]]) -> None:
        write_counters(self._connection, deltas)

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        return write_grouped(self._connection, writings)


class SqliteSession:
    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def transact(self, work: Callable[[SqliteStatements], Awaitable[_T]], *, urgent: bool = True) -> _T:
        return await self._writer.submit(_run_on_thread(work), urgent=urgent)

    async def read(self, work: Callable[[SqliteStatements], Awaitable[_T]], *, is_long: bool = False) -> _T:
        return await (self._readers.run_long if is_long else self._readers.run)(_run_on_thread(work))

    async def query(self, name: str, *values: Any) -> list[Row]:
        return await self._readers.query(sql(name), tuple(map(_bind, values)))

    async def fetch(self, build: Callable[[list[Row]], _T], name: str, *values: Any) -> _T:
        return await self._readers.run(lambda connection: build(run_query(connection, name, values)))

    async def lookup(self, name: str, *values: Any) -> list[Row]:
        return await self._readers.run_inline(
            lambda connection: run_query(connection, name, values), single_statement=True
        )

    async def run_statement(self, work: Callable[[SqliteStatements], Awaitable[_T]]) -> _T:
        return await self._writer.submit(_run_on_thread(work))


def run_query(connection: SqliteConnection, name: str, values: Sequence[Any]) -> list[Row]:
    """Run a statement by name; returns the rows of its last step."""
    bindings = tuple(map(_bind, values))
    rows: list[Row] = []
    for step in STATEMENT_STEPS.get(name, (name,)):
        rows = connection.query(sql(step), bindings)
    return rows


def run_to_end(coroutine: Awaitable[_T]) -> _T:
    """Return the result of a coroutine that never suspends."""
    running = cast("Coroutine[Any, Any, _T]", coroutine)
    try:
        running.send(None)
    except StopIteration as end:
        return cast("_T", end.value)
    running.close()
    raise RuntimeError("A coroutine of a SQLite transaction waited for something.")


def _run_on_thread(work: Callable[[SqliteStatements], Awaitable[_T]]) -> Callable[[SqliteConnection], _T]:
    return lambda connection: run_to_end(work(SqliteStatements(connection)))


def _bind(value: Any) -> Any:
    """Return a list as an array binding; SQLite's array function takes NULL for an empty one."""
    if value.__class__ is not list:
        return value
    if not value:
        return None
    return bind_numbers(value) if isinstance(value[0], int) else bind_names(value)


@cache
def _bulk_statement(name: str, width: int) -> BulkStatement:
    return BulkStatement(name, width)


STATEMENT_STEPS: Final[dict[str, tuple[str, ...]]] = {
    "drop_definitions": (
        "delete_lane_slots_of_tasks",
        "delete_live_runs_of_tasks",
        "delete_entries_of_tasks",
        "drop_definitions",
    ),
    "delete_task": ("delete_lines", "delete_runs", "delete_status", "delete_task"),
    "drop_events": ("count_removed_events", "drop_events"),
    # A write transaction excludes all others.
    "lock_tasks": (),
    "raise_event_number": ("first_event_number", "raise_event_number"),
    # The counters of a file are sums at any time.
    "sum_counter_deltas": (),
}
"""Statements that take several steps here and one on a server; each step takes the same values."""
