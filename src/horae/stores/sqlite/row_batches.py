"""Row batches of one write request: collected row by row, written in a few multi-row statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import apsw

from ...errors import HoraeError, StoreError
from ...model.change import Change
from ...model.counts import ALL_OWNERS, OUTCOME_RETAINED_HOURS, RETAINED_HOURS, SWEPT_HOURS, hour_of
from ...model.record import RecordWrite
from ...model.task import NEW_TASK_STATUS
from ..codec.rows import ENTRY_WIDTH, TASK_WIDTH, encode_entry, encode_event, encode_status, encode_task
from ..counter_deltas import CounterDeltas
from ..pending_changes import find_clash, list_identities, require_definition
from .connection import BulkStatement, Row, SqliteConnection, sql
from .load_facts import bind_numbers, find_task_by_id, find_task_by_key
from .records import write_attached_records

_STATUS_WIDTH: Final = 15
_INSERT_TASKS: Final = BulkStatement("insert_tasks", TASK_WIDTH)
_PUT_STATUSES: Final = BulkStatement("put_statuses", _STATUS_WIDTH)
_PUT_ENTRIES: Final = BulkStatement("put_entries", ENTRY_WIDTH)
_DROP_ENTRIES: Final = BulkStatement("drop_entries", 2)
_INSERT_RUNS: Final = BulkStatement("insert_runs", 29)
_INSERT_STARTED_RUNS: Final = BulkStatement("insert_started_runs", 13)
_END_RUNS: Final = BulkStatement("end_runs", 8)
_INSERT_LANE_SLOTS: Final = BulkStatement("insert_lane_slots", 2)
_INSERT_EVENTS: Final = BulkStatement("insert_events", 6)
_ADD_TO_COUNTERS: Final = BulkStatement("add_to_counters", 4)
_DELETE_OLD_COUNTERS: Final = sql("delete_old_counters")
_DELETE_OLD_LATENESS: Final = sql("delete_old_lateness")
_UPDATE_TASK: Final = sql("update_task")
_DELETE_ENTRIES_OF_TASKS: Final = sql("delete_entries_of_tasks")
_UPDATE_RUN: Final = sql("update_run")
_DELETE_LANE_SLOT: Final = sql("delete_lane_slot")
_REQUEST_CANCEL: Final = sql("request_cancel")
_DELETE_TASK_STATEMENTS: Final = tuple(
    sql(name) for name in ("delete_lines", "delete_runs", "delete_status", "delete_task")
)
_FRESH_STATUS_VALUES: Final = encode_status(0, 1, NEW_TASK_STATUS)[2:]


class RowBatches(CounterDeltas):
    """Rows of one request by kind of write, and the counter deltas that belong to them."""

    def __init__(self) -> None:
        super().__init__()
        # Concatenated values of all rows, as multi-row statements take them.
        self.new_tasks: list[Any] = []
        self.statuses: list[Any] = []
        self.new_entries: list[Any] = []
        """Entries of new tasks."""
        self.started_runs: list[Any] = []
        self.new_runs: list[Any] = []
        self.ended_runs: list[Any] = []
        self.taken_slots: list[Any] = []
        self.events: list[Any] = []
        # Rows for single-row statements, because there are few of them.
        self.edited_tasks: list[Row] = []
        self.updated_runs: list[Row] = []
        self.cancel_requests: list[Row] = []
        self.freed_slots: list[Row] = []
        self.entries: dict[tuple[int, str], Row | None] = {}
        """Entry rows by task and slot; None deletes the entry."""
        self.emptied_agendas: dict[int, None] = {}
        """Numbers of tasks whose entries are all deleted before `entries` and `put` are written."""
        self.deleted_tasks: list[int] = []
        self.attached_records: list[RecordWrite] = []

    def add_task(self, number: int, change: Change, live: Sequence[int] = ()) -> None:
        """Add a new task with its entries and events; `live` are the numbers of its live runs."""
        task = require_definition(change)
        self.new_tasks += (number, *encode_task(task))
        if change.status is NEW_TASK_STATUS and not change.new_runs:
            self.statuses += (number, 1, *_FRESH_STATUS_VALUES)
            self.count_new_task(task.owner)
        else:
            self.statuses += encode_status(number, 1, change.status or NEW_TASK_STATUS, live)
            self.count_change(task.owner, None, change._replace(status=change.status or NEW_TASK_STATUS))
        for entry in change.put:
            self.new_entries += encode_entry(number, entry)
        for event in change.events:
            self.events += encode_event(event)
        self.attached_records += change.attached

    def renumber_tasks(self, first: int) -> None:
        """Renumber new tasks, which were numbered from one on, to start at `first`."""
        self.new_tasks[0::TASK_WIDTH] = range(first, first + len(self.new_tasks) // TASK_WIDTH)
        self.statuses[0::_STATUS_WIDTH] = range(first, first + len(self.statuses) // _STATUS_WIDTH)
        self.new_entries[0::ENTRY_WIDTH] = [first - 1 + number for number in self.new_entries[0::ENTRY_WIDTH]]

    def write(self, connection: SqliteConnection) -> None:
        self._write_tasks(connection)
        self._write_entries(connection)
        self._write_runs(connection)
        connection.write_rows(_INSERT_EVENTS, self.events)
        write_counters(connection, self.total_deltas())
        for number in self.deleted_tasks:
            for statement in _DELETE_TASK_STATEMENTS:
                connection.query(statement, (number,))
        write_attached_records(connection, self.attached_records)

    def _write_tasks(self, connection: SqliteConnection) -> None:
        try:
            connection.write_rows(_INSERT_TASKS, self.new_tasks)
            connection.write_each(_UPDATE_TASK, self.edited_tasks)
        except apsw.ConstraintError as error:
            raise self._describe_conflict(connection) from error
        connection.write_rows(_PUT_STATUSES, self.statuses)

    def _describe_conflict(self, connection: SqliteConnection) -> HoraeError:
        """Return the error for the first id or key that another task has or that appears twice in the batch."""
        identities = list_identities(self.new_tasks, self.edited_tasks)
        by_id = {task.id: find_task_by_id(connection, task.id) for task in identities}
        by_key = {
            (owner, key): find_task_by_key(connection, owner, key) for _, _, owner, key in identities if key is not None
        }
        clash = find_clash(
            identities,
            {task_id: task.number for task_id, task in by_id.items() if task is not None},
            {owner_and_key: task.number for owner_and_key, task in by_key.items() if task is not None},
        )
        return clash or StoreError("A task with this id is there already; nothing was written.")

    def _write_entries(self, connection: SqliteConnection) -> None:
        if self.emptied_agendas:
            connection.query(_DELETE_ENTRIES_OF_TASKS, (bind_numbers(self.emptied_agendas),))
        if self.entries:
            dropped = [part for key, row in self.entries.items() if row is None for part in key]
            put = [value for row in self.entries.values() if row is not None for value in row]
            connection.write_rows(_DROP_ENTRIES, dropped)
            connection.write_rows(_PUT_ENTRIES, put)
        connection.write_rows(_PUT_ENTRIES, self.new_entries)

    def _write_runs(self, connection: SqliteConnection) -> None:
        connection.write_rows(_INSERT_STARTED_RUNS, self.started_runs)
        connection.write_rows(_INSERT_RUNS, self.new_runs)
        connection.write_rows(_END_RUNS, self.ended_runs)
        connection.write_each(_UPDATE_RUN, self.updated_runs)
        connection.write_each(_DELETE_LANE_SLOT, self.freed_slots)
        connection.write_rows(_INSERT_LANE_SLOTS, self.taken_slots)
        connection.write_each(_REQUEST_CANCEL, self.cancel_requests)


def write_counters(connection: SqliteConnection, counts: Counter[tuple[str, int, str]]) -> None:
    """Add the deltas to the counters of each owner and to the totals of all owners."""
    if not counts:
        return
    totals: Counter[tuple[str, int, str]] = Counter()
    for (_, hour, name), number in counts.items():
        totals[ALL_OWNERS, hour, name] += number
    rows = [value for key, number in (*counts.items(), *totals.items()) if number for value in (*key, number)]
    connection.write_rows(_ADD_TO_COUNTERS, rows)
    newest = max(hour for _, hour, _ in counts)
    if newest > connection.newest_hour:
        _delete_old_hours(connection, newest)


def _delete_old_hours(connection: SqliteConnection, newest: int) -> None:
    """Delete counters beyond their retention, counted from now at the latest: a row in the future must not delete the
    current counters."""
    hour = min(newest, hour_of(connection.clock.now()))
    if hour > connection.newest_hour:
        connection.newest_hour = hour
        connection.query(_DELETE_OLD_COUNTERS, (hour - OUTCOME_RETAINED_HOURS,))
        last = hour - RETAINED_HOURS
        connection.query(_DELETE_OLD_LATENESS, (max(1, last - SWEPT_HOURS), last))
