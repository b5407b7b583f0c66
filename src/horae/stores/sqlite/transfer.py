"""Import of tasks and ended runs into a SQLite file, which numbers runs itself and has one table for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.change import Facts
from ...ports.transfer import TransferItem, require_type
from ..codec.rows import encode_entry, encode_new_run, encode_status, encode_task
from ..codec.transfer_rows import RUNS_BY_NUMBER
from ..sql.transfer import SQLTransfer, find_existing, find_tasks_of_runs
from .connection import BulkStatement, SqliteConnection, sql
from .row_batches import RowBatches
from .session import SqliteStatements, run_query, run_to_end
from .writer import Writer

_LAST_TASK: Final = sql("last_task")
_LAST_RUN: Final = sql("last_run")
_IMPORT_RUNS: Final = BulkStatement("import_runs", 29)


class SQLiteTransfer(SQLTransfer):
    _writer: Writer
    # By run number: one planned instant may have a million runs, and no index orders those.
    _ended_run_rows = RUNS_BY_NUMBER

    async def _import_tasks(self, items: Sequence[TransferItem]) -> None:
        await self._writer.submit(lambda connection: _write_tasks(connection, items), urgent=False)

    async def _import_runs(self, items: Sequence[TransferItem]) -> None:
        await self._writer.submit(lambda connection: _write_runs(connection, items), urgent=False)


def _write_tasks(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    imported = require_type(Facts, parcels)
    existing = run_to_end(find_existing(SqliteStatements(connection), [facts.task.id for facts in imported]))
    if existing:
        # The tasks themselves are deleted too, and inserted again below, under the same numbers.
        run_query(connection, "drop_definitions", ([number for number, _ in existing.values()],))
    ((last_run,),) = connection.query(_LAST_RUN)
    last_task = max((number for (number,) in connection.query(_LAST_TASK)), default=0)
    batches = RowBatches()
    for facts in imported:
        if facts.task.id not in existing:
            last_task += 1
            existing[facts.task.id] = last_task, 0
        number, version = existing[facts.task.id]
        _add_task(batches, number, version + 1, facts, range(last_run + 1, last_run + 1 + len(facts.live)))
        last_run += len(facts.live)
    batches.write(connection)


def _add_task(batches: RowBatches, number: int, version: int, facts: Facts, seqs: range) -> None:
    batches.new_tasks += (number, *encode_task(facts.task))
    batches.statuses += encode_status(number, version, facts.status, seqs)
    for entry in facts.entries:
        batches.new_entries += encode_entry(number, entry)
    for seq, run in zip(seqs, facts.live, strict=True):
        batches.new_runs += encode_new_run(seq, number, run)
        for lane in run.lanes:
            batches.taken_slots += (lane, run.id)


def _write_runs(connection: SqliteConnection, items: Sequence[TransferItem]) -> None:
    numbered = run_to_end(find_tasks_of_runs(SqliteStatements(connection), items))
    ((last_run,),) = connection.query(_LAST_RUN)
    values: list[Any] = []
    for seq, (number, run) in enumerate(numbered, last_run + 1):
        values += encode_new_run(seq, number, run)
    connection.write_rows(_IMPORT_RUNS, values)
