"""Unit of work of one transaction: collects the changes that were decided, keeps the loaded facts current, flushes once."""

from __future__ import annotations

from typing import Final

from ...lifecycle.chain import OccurrenceEnd, ended_occurrences
from ...model.change import TAGS, Change, Facts, LanedStart, Start, Success
from ...model.entry import CLAIMABLE, Entry, EntryState
from ...model.ids import to_microseconds
from ...model.lanes.route import is_route, place_entries
from ...model.run import Run
from ...model.task import Task, TaskState
from ..chains import Relink, change_of_links, follow_chains, relink
from ..codec.rows import (
    encode_chain_row,
    encode_entry,
    encode_event,
    encode_start_event,
    encode_started_run,
    encode_status,
    encode_success,
    encode_success_events,
    encode_task,
    instants_of_run,
)
from ..messages import StreamWrites, stream_writes_of, write_streams
from ..pending_changes import PendingChanges, lanes_taken, require_live, require_same_task
from ..run_deduplication import deduplicate_runs
from ..task_cache import CachedTask, TaskCache, apply_change
from .chains import SQLChainAccess
from .claims.lane_queue import unpark_entries
from .claims.lane_rates import offer_starts
from .claims.ordinary_batch import OrdinaryBatch, start_of, success_of, task_after_start, task_after_success
from .connection import Statements
from .load_facts import LaneState, LoadedFacts
from .message_access import SQLMessageAccess
from .records import write_attached_records
from .row_batches import RowBatches

_MIN_SEPARATE: Final = 4
"""Fewer ordinary changes than this are written with the others, if there are others: a statement costs more."""


class UnitOfWork(PendingChanges):
    """Collects changes as rows. Later decisions of the transaction see the result; `flush` writes the rows."""

    def __init__(self, connection: Statements, loaded: LoadedFacts) -> None:
        super().__init__()
        self._connection = connection
        self.batches = RowBatches()
        self._loaded = loaded
        self._cache_updates: dict[int, CachedTask | None] = {}
        self._ends: list[OccurrenceEnd] = []
        self._relinks: list[Relink] = []
        self.linked_changes: list[Change] = []
        """Changes of tasks that run after those of this transaction."""
        self._stream_writes: list[StreamWrites] = []
        self._moved_runs: list[Run] = []
        """Runs in lanes that have a new state, or are gone: they are no longer idle."""
        self._ordinary = None if connection.write_ordinary is None else OrdinaryBatch()
        """Ordinary changes of one kind, which may be written by one statement, before the row batches of all others. None
        where there is no such statement, or once a task has had a second change: that is written after its first one."""

    def update_cache(self, cache: TaskCache) -> None:
        """Put the new versions of the tasks into the cache. Call it only after the commit."""
        cache.update(self._cache_updates, () if self._ordinary is None else self._ordinary.emptied_tasks)

    # --- deduplication of new runs ----------------------------------------------------------------------------------------------------

    async def find_existing_runs(self, number: int, change: Change) -> frozenset[str]:
        """Return the ids of the change's new runs that the ledger has already, or will have after the flush."""
        return frozenset([run.id for run in change.new_runs if await self._run_exists(number, run)])

    async def deduplicate_runs(self, number: int, change: Change) -> Change:
        if not change.new_runs:
            return change
        existing = await self.find_existing_runs(number, change)
        change = deduplicate_runs(change, lambda run: run.id in existing)
        self._new_run_ids.update(run.id for run in change.new_runs)
        return change

    async def _run_exists(self, number: int, run: Run) -> bool:
        if run.id in self._new_run_ids:
            return True
        return bool(
            await self._connection.query(
                "existing_run", number, to_microseconds(run.planned), run.attempt, run.origin, run.id
            )
        )

    # --- changes ---------------------------------------------------------------------------------------------------

    async def add_task(self, number: int, change: Change) -> None:
        """Add the change that creates a task."""
        self._spread_ordinary()
        change = await self.deduplicate_runs(number, change)
        for run in change.new_runs:
            self.batches.add_run(number, run)
        self.batches.add_task(number, change)
        self._collect_relink(None, change)

    def add_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        """Add a change that was decided on `known` and `entries`; later decisions see the task as changed.

        The flush follows the occurrences that it ends to the successors of the task.
        """
        if change.__class__ not in TAGS:
            self._collect_links(known, entries, change)
        self.add_unlinked_change(known, entries, change)

    def _collect_links(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        """Collect the consequences of a change for linked tasks; a tagged change has none."""
        task = known.task
        if task.successors and (change.updated_runs or change.new_runs) and not change.deleted:
            self._ends += ended_occurrences(Facts(task, known.status, entries, known.live), change)
        status = change.status
        if change.task or change.deleted or (status is not None and status.state is TaskState.CANCELLED):
            self._collect_relink(task, change)

    def _collect_relink(self, before: Task | None, change: Change) -> None:
        relinked = change_of_links(before, change)
        if relinked is not None:
            self._relinks.append(relinked)

    def add_linked_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        """Add the change of a linked task."""
        self.linked_changes.append(change)
        self.add_unlinked_change(known, entries, change)

    def add_unlinked_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        """Add a change as it is, without its consequences for linked tasks."""
        if (start := start_of(change)) is not None:
            self.add_starts([(known, start)])
            return
        if (success := success_of(change)) is not None:
            self.add_success(known, change.updated_runs[0], success)
            return
        if known.number in self._cache_updates:
            self._spread_ordinary()
        if change.__class__ is LanedStart:
            self._add_laned_start(known, entries[0], change)
        else:
            self._add_general_change(known, entries, change)
            self.batches.count_change(known.task.owner, known.status, change)
            self._add_attached(known, change)
        self.batches.events += map(encode_event, change.events)

    def add_starts(self, starts: list[tuple[CachedTask, Start]]) -> None:
        """Add ordinary starts of different tasks, of runs whose ids begin with their planned instants."""
        if not starts:
            return
        after = {known.number: task_after_start(known, start) for known, start in starts}
        if not self._cache_updates.keys().isdisjoint(after):
            self._spread_ordinary()
        if self._ordinary is None or not self._ordinary.add_starts(starts):
            for known, start in starts:
                self._add_start_rows(known, start, instants_of_run(start.run))
        self._loaded.tasks.update(after)
        self._cache_updates.update(after)

    def add_success(self, known: CachedTask, run: Run, success: Success) -> None:
        """Add an ordinary success of a run whose id begins with its planned instant."""
        number = known.number
        if number in self._cache_updates:
            self._spread_ordinary()
        if self._ordinary is None or not self._ordinary.add_success(known, run, success):
            self._add_success_rows(known, run, success)
        self._loaded.tasks[number] = self._cache_updates[number] = task_after_success(known, success)

    def _spread_ordinary(self) -> None:
        """Turn the ordinary changes into row batches, and write everything so from here on: one statement cannot write them, or
        a task is changed again."""
        ordinary, self._ordinary = self._ordinary, None
        if ordinary is not None:
            for known, start in ordinary.starts:
                self._add_start_rows(known, start, instants_of_run(start.run))
            for known, run, success in ordinary.ends:
                self._add_success_rows(known, run, success)

    def _add_attached(self, known: CachedTask, change: Change) -> None:
        """Add what commits with a change besides its task; a tagged change has nothing of that."""
        if change.attached:
            self.batches.attached_records += change.attached
        if change.messages or change.moves:
            self._stream_writes.append(stream_writes_of(known.task, change))
        for row in change.chain_rows:
            self.batches.chain_rows[known.number, row.root.key] = encode_chain_row(known.number, row)

    def _update_known(self, known: CachedTask) -> None:
        self._loaded.tasks[known.number] = known
        self._cache_updates[known.number] = known

    def _add_start_rows(self, known: CachedTask, start: Start, instants: tuple[int, int]) -> None:
        batches, number = self.batches, known.number
        run, status, following = start
        batches.started_runs += encode_started_run(number, run, instants)
        batches.statuses[number] = encode_status(number, known.version + 1, status)
        if following is None:
            batches.emptied_agendas[number] = None
        else:
            batches.entries[number, following.slot] = encode_entry(number, following)
        batches.events.append(encode_start_event(run))

    def _add_success_rows(self, known: CachedTask, run: Run, success: Success) -> None:
        batches, number = self.batches, known.number
        batches.ended_runs += encode_success(run.id, success)
        batches.count_success(run, success)
        batches.statuses[number] = encode_status(number, known.version + 1, success.status)
        batches.events += encode_success_events(known.task, run, success)

    def _add_laned_start(self, known: CachedTask, entry: Entry, change: Change) -> None:
        """Add the rows of a start in lanes; `entry` is the only one of the task."""
        batches, number, lane_state, run = self.batches, known.number, self._loaded.lane_state, change.new_runs[0]
        batches.add_laned_run(number, run)
        if change.put:
            (following,) = change.put
            batches.entries[number, following.slot] = encode_entry(number, following)
        else:
            batches.emptied_agendas[number] = None
        if entry.lane is not None and not is_route(entry.lane):
            lane_state.count_unparked(entry.lane, -1)
            self._freed_lanes.add(entry.lane)
        lane_state.add_taken(run.lanes, 1)
        for lane in run.lanes:
            if lane != entry.lane:
                # An unparked entry had its turn when it was unparked.
                lane_state.take_turn(lane, run.owner)
        lane_state.add_started(run.lanes)
        batches.statuses[number] = encode_status(number, known.version + 1, change.status or known.status)
        run_status = change.status or known.status
        self._update_known(CachedTask(number, known.version + 1, known.task, run_status, change.new_runs))

    def _add_general_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        number = known.number
        if change.deleted:
            self._add_deletion(known, entries)
            return
        if change.put and (change.task or known.task).policies.where:
            change = place_entries(change.task or known.task, change)
        if change.put or change.dropped:
            self._add_entry_changes(self.batches.entries, number, entries, change)
        unparked = self._count_lane_entries(number, entries, change)
        for run in change.new_runs:
            self.batches.add_run(number, run)
            lane_state = self._loaded.lane_state
            lane_state.add_taken(lanes_taken(run), 1)
            for lane in lanes_taken(run):
                if lane not in unparked:
                    # An unparked entry had its turn when it was unparked.
                    lane_state.take_turn(lane, run.owner)
            lane_state.add_started(lanes_taken(run))
        if change.idle_runs:
            self._loaded.lane_state.put_idle_runs(change.idle_runs)
        for run in change.updated_runs:
            self._add_moved_run(known, run)
        if (
            change.task
            or change.status
            or change.new_runs
            or change.updated_runs
            or change.cancelled
            or change.put
            or change.dropped
        ):
            # A change of the agenda alone raises the version too: other nodes compare it with the one they decided on.
            self._add_task_update(known, apply_change(known, change), change)

    def _count_lane_entries(self, number: int, entries: tuple[Entry, ...], change: Change) -> set[str]:
        """Count the entries that wait for a lane, or got a slot of one; return the lanes of the latter that are gone."""
        lane_state = self._loaded.lane_state
        before = {entry.slot: entry for entry in entries if entry.lane is not None}
        unparked: set[str] = set()
        for slot in (*change.dropped, *(entry.slot for entry in change.put)):
            entry = before.get(slot)
            if entry is None or entry.lane is None:
                continue
            if entry.state is EntryState.PARKED:
                lane_state.remove_parked(entry.lane, number, slot)
            elif entry.state in CLAIMABLE:
                lane_state.count_unparked(entry.lane, -1)
                unparked.add(entry.lane)
        for put in change.put:
            if put.lane is not None and put.state is EntryState.PARKED:
                lane_state.add_newcomer(put.lane, number, put.slot)
            elif put.lane is not None and put.state in CLAIMABLE:
                lane_state.count_unparked(put.lane, 1)
        return unparked

    def _add_task_update(self, before: CachedTask, known: CachedTask, change: Change) -> None:
        number, version, task, standing, live = known
        if task is not before.task:
            require_same_task(before.task, task)
            self.batches.edited_tasks.append((*encode_task(task), number))
        self.batches.statuses[number] = encode_status(number, version, standing)
        cancelled_ids = {run_id for run_id, _ in change.cancelled}
        for run in live:
            if run.id in cancelled_ids:
                self.batches.update_run(number, run, run)
        self._update_known(known)

    def _add_moved_run(self, known: CachedTask, run: Run) -> None:
        before = require_live(known, run.id)
        self.batches.update_run(known.number, before, run)
        lanes = lanes_taken(run)
        if before.lanes:
            self._moved_runs.append(before)
        if before.lanes != lanes:
            self._loaded.lane_state.add_taken(before.lanes, -1)
            self._loaded.lane_state.add_taken(lanes, 1)
            if not lanes:
                self._freed_lanes.update(before.lanes)

    def _add_deletion(self, known: CachedTask, entries: tuple[Entry, ...]) -> None:
        batches = self.batches
        batches.deleted_tasks.append(known.number)
        batches.emptied_agendas[known.number] = None
        for entry in entries:
            # An entry that an earlier decision of this transaction added must not be written after the deletion.
            batches.entries.pop((known.number, entry.slot), None)
            if entry.lane is not None and entry.state is EntryState.PARKED:
                self._loaded.lane_state.remove_parked(entry.lane, known.number, entry.slot)
            elif entry.lane is not None and entry.state in CLAIMABLE:
                self._loaded.lane_state.count_unparked(entry.lane, -1)
        self._moved_runs += known.live
        for run in known.live:
            batches.changed_live_runs.pop(run.id, None)
            batches.new_runs.pop(run.id, None)
            for lane in run.lanes:
                batches.freed_slots += (lane, run.id)
            self._loaded.lane_state.add_taken(run.lanes, -1)
            self._freed_lanes.update(run.lanes)
        self._offer_claimable_lanes(entries)
        del self._loaded.tasks[known.number]
        self._cache_updates[known.number] = None

    async def flush(self) -> None:
        """Write all rows, unpark entries that wait for freed lane slots, then write messages and attached records."""
        if self._ends or self._relinks:
            await self._follow_chains()
        if not await self._write_ordinary():
            self._spread_ordinary()
        await self.batches.write(self._connection)
        lane_state = self._loaded.lane_state
        if self._freed_lanes or lane_state.rates:
            await self._offer_lanes(lane_state)
        for run in self._moved_runs:
            lane_state.drop_idle_run(run.lanes, run.id)
        self.batches.attached_records += lane_state.idle_record_writes()
        await lane_state.write_turns()
        if self._stream_writes:
            written = await write_streams(SQLMessageAccess(self._connection), self._stream_writes)
            self.batches.attached_records += written.records
        if self.batches.attached_records:
            await write_attached_records(self._connection, self.batches.attached_records)

    async def _offer_lanes(self, lane_state: LaneState) -> None:
        """Unpark entries of lanes with free slots, and write the starts of lanes with a rate."""
        touched = {lane for lane, found in lane_state.rates.items() if found.is_touched}
        lanes = sorted(self._freed_lanes | touched)
        await lane_state.lock_lanes(lanes)
        for lane in lanes:
            if lane in lane_state.rates:
                await offer_starts(self._connection, lane_state, lane)
            elif lane_state.has_waiting(lane) and (count := lane_state.free_slots(lane)):
                await unpark_entries(self._connection, lane_state, lane, count)

    async def _follow_chains(self) -> None:
        access = SQLChainAccess(self._connection, self._loaded, self)
        ends = self._ends
        for relinked in self._relinks:
            ends += await relink(access, relinked)
        await follow_chains(access, ends)

    async def _write_ordinary(self) -> bool:
        write, ordinary = self._connection.write_ordinary, self._ordinary
        if write is None or ordinary is None or len(ordinary) < (_MIN_SEPARATE if self.batches.statuses else 1):
            return False
        return await write(ordinary)
