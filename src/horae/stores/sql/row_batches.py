"""Row batches of one transaction: rows are collected one by one and written by a few bulk statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

from ...model.change import Change
from ...model.lanes.route import place_entries
from ...model.record import RecordWrite
from ...model.run import LIVE_STATES, Run
from ...model.task import NEW_TASK_STATUS
from ..codec.rows import (
    CHAIN_ROW_WIDTH,
    ENTRY_WIDTH,
    TASK_WIDTH,
    Row,
    encode_entry,
    encode_event,
    encode_laned_run,
    encode_run,
    encode_status,
    encode_task,
)
from ..counter_deltas import CounterDeltas
from ..pending_changes import find_clash, lanes_taken, list_identities, require_definition
from .connection import DuplicateTaskError, Statements

STATUS_COLUMNS: Final = 14
RUN_COLUMNS: Final = 29
LIVE_RUN_COLUMNS: Final = RUN_COLUMNS - 1
"""`encode_run` ends with the stray-id flag, a column of the ledger only."""
STARTED_COLUMNS: Final = 12
LANED_COLUMNS: Final = STARTED_COLUMNS + 1
ENDED_COLUMNS: Final = 8
_FRESH_VALUES: Final = encode_status(0, 1, NEW_TASK_STATUS)[2:]


class RowBatches(CounterDeltas):
    """Collects rows per table. A flat list holds the values of all rows, one row after the other, as `write_rows` takes
    them."""

    def __init__(self) -> None:
        super().__init__()
        self.new_tasks: list[Any] = []
        self.edited_tasks: list[Row] = []
        self.new_statuses: list[Any] = []
        self.new_entries: list[Any] = []
        """Entries of new tasks."""
        self.statuses: dict[int, Row] = {}
        """By task number: of several changes of one task, the last is written."""
        self.started_runs: list[Any] = []
        """Ordinary starts, in the short row of `encode_started_run`."""
        self.laned_runs: list[Any] = []
        """Starts in lanes, in the short row of `encode_laned_run`."""
        self.ended_runs: list[Any] = []
        """Ordinary ends, in the short row of `encode_success`."""
        self.new_runs: dict[str, Row] = {}
        """New live runs with full rows, by run id."""
        self.changed_live_runs: dict[str, Row] = {}
        """Updated rows of runs that were live before and still are, by run id."""
        self.removed_live_runs: dict[str, None] = {}
        """Ids of runs that are no longer live."""
        self.ledger_runs: dict[str, Row] = {}
        """Ended runs for the ledger, by run id; ledger rows are final."""
        self.taken_slots: list[Any] = []
        self.freed_slots: list[Any] = []
        self.events: list[Row] = []
        self.entries: dict[tuple[int, str], Row | None] = {}
        """By task and slot; None removes the entry from the agenda."""
        self.emptied_agendas: dict[int, None] = {}
        """Tasks whose agenda is cleared first; rows of `entries` are written after that."""
        self.deleted_tasks: list[int] = []
        self.chain_rows: dict[tuple[int, str], Row] = {}
        """By task and root."""
        self.attached_records: list[RecordWrite] = []
        """Written after everything else, so that their locks are held for the shortest time."""

    def add_task(self, number: int, change: Change) -> None:
        """Add the rows of a new task: its definition, status, entries, counters, events and attached records."""
        task = require_definition(change)
        self.new_tasks += (number, *encode_task(task))
        if change.status is NEW_TASK_STATUS and not change.new_runs:
            self.new_statuses += (number, 1, *_FRESH_VALUES)
            self.count_new_task(task.owner)
        else:
            standing = change.status or NEW_TASK_STATUS
            self.new_statuses += encode_status(number, 1, standing)
            self.count_change(task.owner, None, change._replace(status=standing))
        for entry in place_entries(task, change).put if task.policies.where else change.put:
            self.new_entries += encode_entry(number, entry)
        self.events += map(encode_event, change.events)
        self.attached_records += change.attached

    def number_tasks(self, numbers: Sequence[int]) -> None:
        """Give these numbers to the new tasks, which were numbered from one on, before there was a transaction."""
        self.new_tasks[0::TASK_WIDTH] = numbers
        self.new_statuses[0::STATUS_COLUMNS] = numbers
        self.new_entries[0::ENTRY_WIDTH] = [numbers[number - 1] for number in self.new_entries[0::ENTRY_WIDTH]]

    def add_run(self, number: int, run: Run) -> None:
        if run.state in LIVE_STATES:
            self.new_runs[run.id] = encode_run(number, run)[:LIVE_RUN_COLUMNS]
            for lane in run.lanes:
                self.taken_slots += (lane, run.id)
        else:
            self.ledger_runs[run.id] = encode_run(number, run)

    def add_laned_run(self, number: int, run: Run) -> None:
        """Add the run of a `LanedStart`."""
        row = encode_laned_run(number, run)
        if row is None:
            self.add_run(number, run)
            return
        self.laned_runs += row
        for lane in run.lanes:
            self.taken_slots += (lane, run.id)

    def update_run(self, number: int, before: Run, run: Run) -> None:
        if run.state in LIVE_STATES:
            rows = self.new_runs if run.id in self.new_runs else self.changed_live_runs
            rows[run.id] = encode_run(number, run)[:LIVE_RUN_COLUMNS]
        else:
            self.changed_live_runs.pop(run.id, None)
            if self.new_runs.pop(run.id, None) is None:
                self.removed_live_runs[run.id] = None
            self.ledger_runs[run.id] = encode_run(number, run)
        lanes = lanes_taken(run)
        if before.lanes != lanes:
            for lane in before.lanes:
                self.freed_slots += (lane, run.id)
            for lane in lanes:
                self.taken_slots += (lane, run.id)

    async def write(self, connection: Statements) -> None:
        """Write all batches. Events come last: some servers hand out event numbers to one transaction at a time."""
        await self._write_tasks(connection)
        await self._write_entries(connection)
        await self._write_runs(connection)
        await self._write_lane_slots(connection)
        if self.chain_rows:
            await connection.write_rows("put_chain_rows", CHAIN_ROW_WIDTH, flatten_rows(self.chain_rows.values()))
        for number in self.deleted_tasks:
            await connection.query("delete_task", number)
        await connection.write_counts(self.total_deltas())
        if self.events:
            await connection.write_events(self.events)

    async def _write_tasks(self, connection: Statements) -> None:
        if (self.new_tasks or self.edited_tasks) and connection.dialect.has_concurrent_writers:
            await self._refuse_clashes(connection)
        try:
            if self.new_tasks:
                await connection.write_rows("insert_tasks", TASK_WIDTH, self.new_tasks)
            for row in self.edited_tasks:
                await connection.query("update_task", *row)
        except DuplicateTaskError:
            await self._refuse_clashes(connection)
            raise
        if self.new_statuses:
            await connection.write_rows("insert_statuses", STATUS_COLUMNS, self.new_statuses)
        if self.statuses:
            await connection.write_rows("put_statuses", STATUS_COLUMNS, flatten_rows(self.statuses.values()))

    async def _refuse_clashes(self, connection: Statements) -> None:
        """Raise if an id or a key belongs to another task or occurs twice. Two concurrent transactions with the same key
        collide at the unique index; the one that waited there is retried."""
        identities = list_identities(self.new_tasks, self.edited_tasks)
        keyed = [(owner, key) for _, _, owner, key in identities if key is not None]
        ids: dict[str, int] = dict(await connection.query("numbers_by_id", [task.id for task in identities]))
        keys: dict[tuple[str, str], int] = {}
        if keyed:
            owners, names = map(list, zip(*keyed, strict=True))
            keys = {
                (owner, key): number for owner, key, number in await connection.query("numbers_by_key", owners, names)
            }
        clash = find_clash(identities, ids, keys)
        if clash is not None:
            raise clash

    async def _write_entries(self, connection: Statements) -> None:
        if self.emptied_agendas:
            await connection.query("delete_entries_of_tasks", list(self.emptied_agendas))
        put = self.new_entries
        if self.entries:
            dropped = flatten_rows(key for key, row in self.entries.items() if row is None)
            if dropped:
                await connection.write_rows("drop_entries", 2, dropped)
            put += flatten_rows(row for row in self.entries.values() if row is not None)
        if put:
            await connection.write_rows("put_entries", ENTRY_WIDTH, put)

    async def _write_runs(self, connection: Statements) -> None:
        if self.started_runs:
            await connection.write_rows("insert_started_runs", STARTED_COLUMNS, self.started_runs)
        if self.laned_runs:
            await connection.write_rows("insert_laned_runs", LANED_COLUMNS, self.laned_runs)
        if self.new_runs:
            await connection.write_rows("insert_live_runs", LIVE_RUN_COLUMNS, flatten_rows(self.new_runs.values()))
        if self.changed_live_runs:
            await connection.write_rows(
                "put_live_runs", LIVE_RUN_COLUMNS, flatten_rows(self.changed_live_runs.values())
            )
        if self.ended_runs:
            await connection.write_rows("end_runs", ENDED_COLUMNS, self.ended_runs)
        if self.removed_live_runs:
            await connection.query("drop_live_runs", list(self.removed_live_runs))
        if self.ledger_runs:
            await connection.write_rows("insert_runs", RUN_COLUMNS, flatten_rows(self.ledger_runs.values()))

    async def _write_lane_slots(self, connection: Statements) -> None:
        if self.freed_slots:
            await connection.write_rows("delete_lane_slots", 2, self.freed_slots)
        if self.taken_slots:
            await connection.write_rows("insert_lane_slots", 2, self.taken_slots)


def flatten_rows(rows: Iterable[Row]) -> list[Any]:
    """Return the values of all rows in one list."""
    return list(chain.from_iterable(rows))
