"""Book port of the SQLite store: new tasks of several callers share statements, and a run is looked up on the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...model.accounts.system_owner import is_readable
from ...model.change import Change
from ...model.ids import planned_range_of_id
from ...model.run import Run
from ..codec.columns import decode_listed_run
from ..sql.connection import Statements
from ..sql.reads.ledger import read_run
from ..sql.reads.queries import SQLBook, needs_unit_of_work, prepare_new_tasks, write_new_tasks
from ..sql.row_batches import RowBatches
from .connection import SqliteConnection
from .readers import Readers
from .session import run_on_thread
from .write_requests import BatchableWrite
from .writer import Writer

_PREPARE_OFF_THREAD: Final = 64
"""From this number of changes on, rows are encoded on a reader thread instead of the writer's."""


class SQLiteBook(SQLBook):
    _writer: Writer
    _readers: Readers

    async def add(self, changes: Sequence[Change]) -> None:
        given = tuple(changes)
        if any(map(needs_unit_of_work, given)):
            await super().add(given)
        elif len(given) >= _PREPARE_OFF_THREAD:
            # Encoding many schedules would block the writer.
            batches = await self._readers.compute(lambda: prepare_new_tasks(given))
            await self._writer.submit(_write_on_thread(batches, len(given)), urgent=False)
        elif given:
            batchable = BatchableWrite(_prepare_write, given)
            await self._writer.submit(batchable.write_alone, urgent=False, batchable=batchable)

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await self._database.read(lambda connection: _find_run_in_small_indexes(connection, run_id), extent="few")
        if run is None:
            # The run may be one of a million of its instant: search on a reader thread.
            run = await self._database.read(lambda connection: read_run(connection, run_id))
        return run if run is not None and is_readable(owner, run.owner) else None


def _prepare_write(changes: Sequence[Change]) -> Callable[[SqliteConnection], None]:
    return _write_on_thread(prepare_new_tasks(changes), len(changes))


def _write_on_thread(batches: RowBatches, count: int) -> Callable[[SqliteConnection], None]:
    return run_on_thread(lambda connection: write_new_tasks(connection, batches, count))


async def _find_run_in_small_indexes(connection: Statements, run_id: str) -> Run | None:
    """Find a run that is live, or stray, or among the first of its planned instant; None if it may be among the others."""
    rows = await connection.query("live_run", run_id) or await connection.query("run_stray", run_id)
    instants = planned_range_of_id(run_id)
    if not rows and instants is not None:
        rows = await connection.query("run_among_first", *instants, run_id)
    return next(map(decode_listed_run, rows), None)
