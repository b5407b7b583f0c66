"""Transfer port on a database server: exports every part page by page, and imports pages of another store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from ...errors import StoreError
from ...model.change import Facts
from ...model.events.event import NumberedEvent
from ...model.ids import to_microseconds
from ...model.page import Page
from ...model.run import Run
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import (
    EVENT_MARK,
    TOKEN_MARK,
    BlockedOwner,
    CounterValue,
    HighWaterMark,
    LaneLimit,
    MetadataItem,
    Part,
    TransferItem,
    require_type,
)
from ..codec.json_codecs import replace_lone_surrogates
from ..codec.rows import (
    encode_entry,
    encode_event,
    encode_node,
    encode_record,
    encode_run,
    encode_status,
    encode_task,
)
from ..codec.transfer_rows import PART_ROWS, RUNS_BY_OCCURRENCE
from ..transfer_pages import ReadableStore, make_marks_page, read_page
from .connection import Connection, DuplicateRunError
from .ledger import SQLFeed
from .row_batches import RUN_COLUMNS, RowBatches

_PAGE_STATEMENTS: Final = {
    Part.METADATA: "metadata_page",
    Part.RECORDS: "all_records_page",
    Part.LANES: "limits_page",
    Part.BLOCKED_OWNERS: "blocked_owners_page",
    Part.COUNTERS: "counters_page",
    Part.RUNS: "ended_runs_page",
    Part.LINES: "all_lines_page",
}
_PART_ROWS: Final = PART_ROWS | {Part.RUNS: RUNS_BY_OCCURRENCE}


class SQLTransfer(SQLFeed):
    async def count_parts(self) -> dict[Part, int]:
        await self._number_events()
        (row,) = await self._session.query("count_parts")
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            await self._number_events()
            ((token, event),) = await self._session.query("marks")
            return make_marks_page(token, event, after, limit)
        if part not in _PAGE_STATEMENTS:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        part_rows = _PART_ROWS[part]
        rows = await self._session.query(_PAGE_STATEMENTS[part], *part_rows.start_after(after), limit)
        items, cursor = part_rows.build_page(rows, limit)
        return Page(tuple(each for each in items if not _is_zero_counter(each)), cursor)

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        items = tuple(parcels)
        if items:
            await self._session.transact(lambda connection: import_rows(connection, part, items))


def _is_zero_counter(item: TransferItem) -> bool:
    """Whether this is a counter with the value zero."""
    return isinstance(item, CounterValue) and not item.number


_RAISE_STATEMENTS: Final = {TOKEN_MARK: "raise_token", EVENT_MARK: "raise_event_number"}
_NUL: Final = "\0"
_REPLACEMENT: Final = "\ufffd"


async def import_rows(connection: Connection, part: Part, items: Sequence[TransferItem]) -> None:
    await _IMPORTERS[part](connection, items)


async def _import_marks(connection: Connection, items: Sequence[TransferItem]) -> None:
    for name, number in require_type(HighWaterMark, items):
        if name in _RAISE_STATEMENTS:
            await connection.query(_RAISE_STATEMENTS[name], number)


async def _import_metadata(connection: Connection, items: Sequence[TransferItem]) -> None:
    for metadata in require_type(MetadataItem, items):
        await connection.query("write_metadata", *metadata)


async def _import_records(connection: Connection, items: Sequence[TransferItem]) -> None:
    for record in require_type(Record, items):
        await connection.query("put_record", *encode_record(record))


async def _import_lanes(connection: Connection, items: Sequence[TransferItem]) -> None:
    for lane in require_type(LaneLimit, items):
        await connection.query("set_lane", *lane)


async def _import_blocked_owners(connection: Connection, items: Sequence[TransferItem]) -> None:
    for owner, reason in require_type(BlockedOwner, items):
        await connection.query("block_owner", owner, reason.value)


async def _import_nodes(connection: Connection, items: Sequence[TransferItem]) -> None:
    for node in require_type(Node, items):
        await connection.query("join", *encode_node(node))


async def _import_counters(connection: Connection, items: Sequence[TransferItem]) -> None:
    # Counter deltas that are not summed up yet would be added on top later.
    await connection.query("sum_counter_deltas")
    await connection.write_rows(
        "replace_counters", 4, [value for counter in require_type(CounterValue, items) for value in counter]
    )


async def _import_tasks(connection: Connection, items: Sequence[TransferItem]) -> None:
    given = require_type(Facts, items)
    existing = await _find_existing(connection, [facts.task.id for facts in given])
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


async def _find_existing(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Map the ids of existing tasks to number and version."""
    rows = await connection.query("versions_by_id", list(dict.fromkeys(ids)))
    return {task_id: (number, version) for task_id, number, version in rows}


async def _import_runs(connection: Connection, items: Sequence[TransferItem]) -> None:
    given = require_type(Run, items)
    existing = await _find_existing(connection, [run.task_id for run in given])
    values: list[Any] = []
    for run in given:
        if run.task_id not in existing:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        number, _ = existing[run.task_id]
        values += encode_run(number, run)
    await connection.write_rows("import_runs", RUN_COLUMNS, _without_nul(values))


async def _import_lines(connection: Connection, items: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in require_type(NumberedLine, items):
        values += (run_id, number, to_microseconds(at), level, replace_lone_surrogates(text))
    await connection.write_rows("import_lines", 5, _without_nul(values))


async def _import_events(connection: Connection, items: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, event in require_type(NumberedEvent, items):
        values += (number, *encode_event(event))
    await connection.write_rows("import_events", 7, _without_nul(values))


def _without_nul(values: list[Any]) -> list[Any]:
    """Replace NUL characters: SQLite can store them in text, database servers cannot."""
    return [
        value.replace(_NUL, _REPLACEMENT) if isinstance(value, str) and _NUL in value else value for value in values
    ]


_IMPORTERS: Final[dict[Part, Callable[[Connection, Sequence[TransferItem]], Awaitable[None]]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: _import_metadata,
    Part.RECORDS: _import_records,
    Part.LANES: _import_lanes,
    Part.BLOCKED_OWNERS: _import_blocked_owners,
    Part.NODES: _import_nodes,
    Part.COUNTERS: _import_counters,
    Part.TASKS: _import_tasks,
    Part.RUNS: _import_runs,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
}
