"""Import of tasks, with their entries and live runs, and of ended runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...errors import StoreError
from ...model.chain_row import ChainRow
from ...model.change import Facts
from ...model.run import Run
from ...ports.transfer import TransferItem, require_type
from ..codec.rows import CHAIN_ROW_WIDTH, encode_chain_row, encode_entry, encode_run, encode_status, encode_task
from .connection import DuplicateRunError, Statements
from .row_batches import RUN_COLUMNS, RowBatches, flatten_rows

_NUL: Final = "\0"
_REPLACEMENT: Final = "\ufffd"


async def import_tasks(connection: Statements, items: Sequence[TransferItem]) -> None:
    """Write tasks with their entries and live runs, in place of those that exist."""
    given = require_type(Facts, items)
    existing = await _find_existing(connection, [facts.task.id for facts in given])
    if existing:
        await connection.query("drop_definitions", [number for number, _ in existing.values()])
    missing = [facts.task.id for facts in given if facts.task.id not in existing]
    numbers = await connection.new_task_numbers(len(missing)) if missing else ()
    existing.update((task_id, (number, 0)) for task_id, number in zip(missing, numbers, strict=True))
    batches = RowBatches()
    for facts in given:
        _add_task(batches, *existing[facts.task.id], facts)
    try:
        await batches.write(connection)
    except DuplicateRunError as error:
        raise StoreError("A run that goes on there has ended here; nothing was written.") from error


def _add_task(batches: RowBatches, number: int, version: int, facts: Facts) -> None:
    batches.new_tasks += (number, *encode_task(facts.task))
    batches.new_statuses += encode_status(number, version + 1, facts.status)
    for entry in facts.entries:
        batches.new_entries += encode_entry(number, entry)
    for run in facts.live:
        batches.add_run(number, run)


async def import_runs(connection: Statements, items: Sequence[TransferItem]) -> None:
    """Write ended runs; those that exist are not changed."""
    runs = require_type(Run, items)
    existing = await _find_existing(connection, [run.task_id for run in runs])
    for run in runs:
        if run.task_id not in existing:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
    numbers = {task_id: number for task_id, (number, _) in existing.items()}
    values = flatten_rows(encode_run(numbers[run.task_id], run) for run in runs)
    await connection.write_rows("import_runs", RUN_COLUMNS, replace_nul(connection, values))


async def import_chain_rows(connection: Statements, items: Sequence[TransferItem]) -> None:
    """Write chain rows, in place of those that exist."""
    rows = require_type(ChainRow, items)
    existing = await _find_existing(connection, [row.task_id for row in rows])
    numbers = {task_id: number for task_id, (number, _) in existing.items()}
    values = flatten_rows(encode_chain_row(numbers[row.task_id], row) for row in rows if row.task_id in numbers)
    if values:
        await connection.write_rows("put_chain_rows", CHAIN_ROW_WIDTH, values)


async def _find_existing(connection: Statements, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Map the ids of existing tasks to number and version."""
    rows = await connection.query("versions_by_id", list(dict.fromkeys(ids)))
    return {task_id: (number, version) for task_id, number, version in rows}


def replace_nul(connection: Statements, values: list[Any]) -> list[Any]:
    """Replace NUL characters, unless texts may contain them: SQLite can store them, database servers cannot."""
    if connection.dialect.stores_nul:
        return values
    return [
        value.replace(_NUL, _REPLACEMENT) if isinstance(value, str) and _NUL in value else value for value in values
    ]
