"""Transfer port of the SQLite store: export by pages, and idempotent import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    encode_new_run,
    encode_node,
    encode_record,
    encode_status,
    encode_task,
)
from ..codec.transfer_rows import PART_ROWS, RUNS_BY_NUMBER
from ..transfer_pages import ReadableStore, make_marks_page, read_page
from .connection import BulkStatement, SqliteConnection, sql
from .load_facts import bind_names, bind_numbers
from .readers import Readers
from .row_batches import RowBatches
from .writer import Writer

_COUNT_PARTS: Final = sql("count_parts")
_MARKS: Final = sql("marks")


_PAGE_STATEMENTS: Final = {
    Part.METADATA: sql("metadata_page"),
    Part.RECORDS: sql("all_records_page"),
    Part.LANES: sql("limits_page"),
    Part.BLOCKED_OWNERS: sql("blocked_owners_page"),
    Part.COUNTERS: sql("counters_page"),
    Part.RUNS: sql("ended_runs_page"),
    Part.LINES: sql("all_lines_page"),
}
# By run number: one planned instant may have a million runs, and no index orders those.
_PART_ROWS: Final = PART_ROWS | {Part.RUNS: RUNS_BY_NUMBER}


class SQLiteTransfer:
    _writer: Writer
    _readers: Readers

    async def count_parts(self) -> dict[Part, int]:
        (row,) = await self._readers.run_long(lambda connection: connection.query(_COUNT_PARTS))
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            ((token, event),) = await self._readers.query(_MARKS)
            return make_marks_page(token, event, after, limit)
        if part not in _PAGE_STATEMENTS:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        statement, part_rows = _PAGE_STATEMENTS[part], _PART_ROWS[part]
        bindings = (*part_rows.start_after(after), limit)
        return await self._readers.run(
            lambda connection: part_rows.build_page(connection.query(statement, bindings), limit)
        )

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        rows = tuple(parcels)
        if rows:
            await self._writer.submit(lambda connection: import_rows(connection, part, rows), urgent=False)


_RAISE_TOKEN: Final = sql("raise_token")
_FIRST_EVENT_NUMBER: Final = sql("first_event_number")
_RAISE_EVENT_NUMBER: Final = sql("raise_event_number")
_WRITE_METADATA: Final = sql("write_metadata")
_REPLACE_RECORD: Final = sql("replace_record")
_SET_LANE: Final = sql("set_lane")
_BLOCK_OWNER: Final = sql("block_owner")
_JOIN: Final = sql("join")
_REPLACE_COUNTER: Final = sql("replace_counter")
_NUMBERS: Final = sql("numbers_by_id")
_LAST_TASK: Final = sql("last_task")
_LAST_RUN: Final = sql("last_run")
_DELETE_REPLACED_TASKS: Final = tuple(
    sql(name)
    for name in ("delete_lane_slots_of_tasks", "drop_live_runs", "delete_entries_of_tasks", "drop_definitions")
)
_IMPORT_RUNS: Final = BulkStatement("import_runs", 29)
_IMPORT_LINES: Final = BulkStatement("import_lines", 5)
_IMPORT_EVENTS: Final = BulkStatement("import_events", 7)


def import_rows(connection: SqliteConnection, part: Part, parcels: Sequence[TransferItem]) -> None:
    _IMPORTERS[part](connection, parcels)


def _import_marks(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    for name, number in require_type(HighWaterMark, parcels):
        if name == TOKEN_MARK:
            connection.query(_RAISE_TOKEN, (number,))
        elif name == EVENT_MARK:
            connection.query(_FIRST_EVENT_NUMBER, (number,))
            connection.query(_RAISE_EVENT_NUMBER, (number,))


def _import_tasks(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    imported = require_type(Facts, parcels)
    existing = _find_existing(connection, [facts.task.id for facts in imported])
    if existing:
        # The last statement deletes the tasks themselves; they are inserted again below, under the same numbers.
        for statement in _DELETE_REPLACED_TASKS:
            connection.query(statement, (bind_numbers([number for number, _ in existing.values()]),))
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


def _find_existing(connection: SqliteConnection, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the number and the version of the tasks that exist, by id."""
    rows = connection.query(_NUMBERS, (bind_names(list(dict.fromkeys(ids))),))
    return {task_id: (number, version) for task_id, number, version in rows}


def _import_runs(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    imported = require_type(Run, parcels)
    existing = _find_existing(connection, [run.task_id for run in imported])
    ((seq,),) = connection.query(_LAST_RUN)
    values: list[Any] = []
    for run in imported:
        if run.task_id not in existing:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        seq += 1
        number, _ = existing[run.task_id]
        values += encode_new_run(seq, number, run)
    connection.write_rows(_IMPORT_RUNS, values)


def _import_lines(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in require_type(NumberedLine, parcels):
        values += (run_id, number, to_microseconds(at), level, replace_lone_surrogates(text))
    connection.write_rows(_IMPORT_LINES, values)


def _import_events(connection: SqliteConnection, parcels: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, event in require_type(NumberedEvent, parcels):
        values += (number, *encode_event(event))
    connection.write_rows(_IMPORT_EVENTS, values)


_IMPORTERS: Final[dict[Part, Callable[[SqliteConnection, Sequence[TransferItem]], None]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: lambda connection, parcels: connection.write_each(
        _WRITE_METADATA, require_type(MetadataItem, parcels)
    ),
    Part.RECORDS: lambda connection, parcels: connection.write_each(
        _REPLACE_RECORD, [encode_record(record) for record in require_type(Record, parcels)]
    ),
    Part.LANES: lambda connection, parcels: connection.write_each(_SET_LANE, require_type(LaneLimit, parcels)),
    Part.BLOCKED_OWNERS: lambda connection, parcels: connection.write_each(
        _BLOCK_OWNER, require_type(BlockedOwner, parcels)
    ),
    Part.NODES: lambda connection, parcels: connection.write_each(
        _JOIN, [encode_node(node) for node in require_type(Node, parcels)]
    ),
    Part.COUNTERS: lambda connection, parcels: connection.write_each(
        _REPLACE_COUNTER, require_type(CounterValue, parcels)
    ),
    Part.TASKS: _import_tasks,
    Part.RUNS: _import_runs,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
}
