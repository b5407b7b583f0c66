"""Import of tasks and ended runs on a database server, where live and ended runs have tables of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StoreError
from ...model.change import Facts
from ...ports.transfer import TransferItem, require_type
from ..codec.rows import encode_entry, encode_run, encode_status, encode_task
from .connection import Connection, DuplicateRunError
from .row_batches import RUN_COLUMNS, RowBatches
from .transactions import Session
from .transfer import SQLTransfer, find_existing, find_tasks_of_runs, replace_nul


class ServerTransfer(SQLTransfer):
    _session: Session

    async def _import_tasks(self, items: Sequence[TransferItem]) -> None:
        await self._session.transact(lambda connection: _write_tasks(connection, items))

    async def _import_runs(self, items: Sequence[TransferItem]) -> None:
        await self._session.transact(lambda connection: _write_runs(connection, items))


async def _write_tasks(connection: Connection, items: Sequence[TransferItem]) -> None:
    given = require_type(Facts, items)
    existing = await find_existing(connection, [facts.task.id for facts in given])
    if existing:
        await connection.query("drop_definitions", [number for number, _ in existing.values()])
    missing = [facts.task.id for facts in given if facts.task.id not in existing]
    numbers = await connection.query("task_numbers", len(missing)) if missing else []
    existing.update((task_id, (number, 0)) for task_id, (number,) in zip(missing, numbers, strict=True))
    batches = RowBatches()
    for facts in given:
        _add_task(batches, *existing[facts.task.id], facts)
    try:
        await batches.write(connection)
    except DuplicateRunError as error:
        raise StoreError("A run that goes on there has ended here; nothing was written.") from error


def _add_task(batches: RowBatches, number: int, version: int, facts: Facts) -> None:
    batches.new_tasks += (number, *encode_task(facts.task))
    batches.new_statuses += encode_status(number, version + 1, facts.status)[:-1]
    for entry in facts.entries:
        batches.entries[number, entry.slot] = encode_entry(number, entry)
    for run in facts.live:
        batches.add_run(number, run)


async def _write_runs(connection: Connection, items: Sequence[TransferItem]) -> None:
    values = [value for number, run in await find_tasks_of_runs(connection, items) for value in encode_run(number, run)]
    await connection.write_rows("import_runs", RUN_COLUMNS, replace_nul(connection, values))
