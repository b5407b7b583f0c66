"""Idempotent import of rows exported from another store: importing a page twice has the effect of once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...errors import StoreError
from ...model.change import Facts
from ...model.events.event import Numbered
from ...model.ids import microseconds
from ...model.run import Run
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import EVENT_MARK, TOKEN_MARK, Barred, LaneLimit, Mark, Parcel, Part, Remembered, Tally, only
from ..codec.json_codecs import printable
from ..codec.rows import birth, entry_values, event_values, node_values, record_values, standing_values, task_values
from .connection import Link
from .lane_state import named
from .load_facts import these
from .row_batches import Sheets
from .statements import Bulk, sql

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
_IMPORT_RUNS: Final = Bulk("import_runs", 29)
_IMPORT_LINES: Final = Bulk("import_lines", 5)
_IMPORT_EVENTS: Final = Bulk("import_events", 7)


def arrive(connection: Link, part: Part, parcels: Sequence[Parcel]) -> None:
    _IMPORTERS[part](connection, parcels)


def _import_marks(connection: Link, parcels: Sequence[Parcel]) -> None:
    for name, number in only(Mark, parcels):
        if name == TOKEN_MARK:
            connection.query(_RAISE_TOKEN, (number,))
        elif name == EVENT_MARK:
            connection.query(_FIRST_EVENT_NUMBER, (number,))
            connection.query(_RAISE_EVENT_NUMBER, (number,))


def _import_tasks(connection: Link, parcels: Sequence[Parcel]) -> None:
    imported = only(Facts, parcels)
    existing = _find_existing(connection, [facts.task.id for facts in imported])
    if existing:
        # The last statement deletes the tasks themselves; they are inserted again below, under the same numbers.
        for statement in _DELETE_REPLACED_TASKS:
            connection.query(statement, (these([number for number, _ in existing.values()]),))
    ((last_run,),) = connection.query(_LAST_RUN)
    last_task = max((row[0] for row in connection.query(_LAST_TASK)), default=0)
    batches = Sheets()
    for facts in imported:
        if facts.task.id not in existing:
            last_task += 1
            existing[facts.task.id] = last_task, 0
        number, version = existing[facts.task.id]
        _add_task(batches, number, version + 1, facts, range(last_run + 1, last_run + 1 + len(facts.live)))
        last_run += len(facts.live)
    batches.write(connection)


def _add_task(batches: Sheets, number: int, version: int, facts: Facts, seqs: range) -> None:
    batches.new_tasks += (number, *task_values(facts.task))
    batches.statuses += standing_values(number, version, facts.status, seqs)
    for entry in facts.entries:
        batches.new_entries += entry_values(number, entry)
    for seq, run in zip(seqs, facts.live, strict=True):
        batches.new_runs += birth(seq, number, run)
        for lane in run.lanes:
            batches.taken_slots += (lane, run.id)


def _find_existing(connection: Link, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the number and the version of the tasks that exist, by id."""
    rows = connection.query(_NUMBERS, (named(list(dict.fromkeys(ids))),))
    return {task_id: (number, version) for task_id, number, version in rows}


def _import_runs(connection: Link, parcels: Sequence[Parcel]) -> None:
    imported = only(Run, parcels)
    existing = _find_existing(connection, [run.task_id for run in imported])
    ((seq,),) = connection.query(_LAST_RUN)
    values: list[Any] = []
    for run in imported:
        if run.task_id not in existing:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        seq += 1
        values += birth(seq, existing[run.task_id][0], run)
    connection.write_rows(_IMPORT_RUNS, values)


def _import_lines(connection: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in only(NumberedLine, parcels):
        values += (run_id, number, microseconds(at), level, printable(text))
    connection.write_rows(_IMPORT_LINES, values)


def _import_events(connection: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, event in only(Numbered, parcels):
        values += (number, *event_values(event))
    connection.write_rows(_IMPORT_EVENTS, values)


_IMPORTERS: Final[dict[Part, Callable[[Link, Sequence[Parcel]], None]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: lambda connection, parcels: connection.write_each(_WRITE_METADATA, only(Remembered, parcels)),
    Part.RECORDS: lambda connection, parcels: connection.write_each(
        _REPLACE_RECORD, [record_values(record) for record in only(Record, parcels)]
    ),
    Part.LANES: lambda connection, parcels: connection.write_each(_SET_LANE, only(LaneLimit, parcels)),
    Part.BLOCKED_OWNERS: lambda connection, parcels: connection.write_each(_BLOCK_OWNER, only(Barred, parcels)),
    Part.NODES: lambda connection, parcels: connection.write_each(
        _JOIN, [node_values(node) for node in only(Node, parcels)]
    ),
    Part.COUNTERS: lambda connection, parcels: connection.write_each(_REPLACE_COUNTER, only(Tally, parcels)),
    Part.TASKS: _import_tasks,
    Part.RUNS: _import_runs,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
}
