"""Unit of work: collects the changes of one request as row batches, updates the loaded facts, and writes at the end."""

from __future__ import annotations

from typing import Final

from ...errors import StoreError
from ...model.change import Change, OrdinaryStart, OrdinarySuccess
from ...model.entry import CLAIMABLE, Entry
from ...model.ids import to_microseconds
from ...model.lane import DEFAULT_LIMIT
from ...model.run import LIVE_STATES, Run
from ...model.task import TaskState
from ..codec.rows import (
    encode_entry,
    encode_event,
    encode_new_run,
    encode_run_update,
    encode_started_run,
    encode_status,
    encode_success,
    encode_task,
    new_tuple,
)
from ..run_deduplication import deduplicate_runs
from ..task_cache import CachedTask, TaskCache, apply_change
from .connection import SqliteConnection, sql
from .load_facts import LoadedFacts
from .row_batches import RowBatches

_LAST_RUN: Final = sql("last_run")
_EXISTING_RUN: Final = sql("existing_run")
_UNPARK: Final = sql("unpark")


class UnitOfWork:
    def __init__(self, connection: SqliteConnection, cache: TaskCache) -> None:
        self._connection = connection
        self._task_cache = cache
        self._batches = RowBatches()
        self._freed_lanes: set[str] = set()
        self._new_run_ids: set[str] = set()
        """Ids of the new runs of this request; the ledger was checked not to have them."""
        self._last_run = -1

    def offer_slots(self, lane: str) -> None:
        self._freed_lanes.add(lane)

    def find_existing_runs(self, number: int, change: Change) -> frozenset[str]:
        """Return the ids of the change's new runs that are in the ledger or already in this unit of work."""
        return frozenset(run.id for run in change.new_runs if self._run_exists(number, run))

    def deduplicate_runs(self, number: int, change: Change) -> Change:
        """Return the change without new runs that exist already."""
        if not change.new_runs:
            return change
        change = deduplicate_runs(change, lambda run: self._run_exists(number, run))
        self._new_run_ids.update(run.id for run in change.new_runs)
        return change

    def _run_exists(self, number: int, run: Run) -> bool:
        if run.id in self._new_run_ids:
            return True
        return bool(
            self._connection.query(
                _EXISTING_RUN, (number, to_microseconds(run.planned), run.attempt, run.origin, run.id)
            )
        )

    def add_task(self, number: int, change: Change) -> None:
        """Add a new task with its runs, entries and events."""
        change = self.deduplicate_runs(number, change)
        new_runs = [(self._add_run(number, run, None), run) for run in change.new_runs]
        live = [each for each, run in sorted(new_runs, key=_run_id) if run.state in LIVE_STATES]
        self._batches.add_task(number, change, live)

    def add_change(self, cached: CachedTask, entries: tuple[Entry, ...], change: Change, loaded: LoadedFacts) -> None:
        """Add a decided change of a loaded task, and update its loaded facts and the task cache."""
        if not self._add_ordinary_change(cached, change, loaded):
            self._add_general_change(cached, entries, change, loaded)
            self._batches.count_change(cached.task.owner, cached.status, change)
        if change.attached:
            self._batches.attached_records += change.attached
        for event in change.events:
            self._batches.events += encode_event(event)

    def _add_ordinary_change(self, cached: CachedTask, change: Change, loaded: LoadedFacts) -> bool:
        """Fast path of tagged changes; return False, with nothing added, for any other."""
        if change.__class__ is OrdinaryStart and not change.put:
            return self._add_ordinary_start(cached, change)
        if change.__class__ is OrdinarySuccess:
            self._add_ordinary_success(cached, change, loaded)
            return True
        return False

    def _add_ordinary_start(self, cached: CachedTask, change: Change) -> bool:
        """Add a start that leaves the agenda of its task empty; False if the run's id does not encode its instant."""
        number, version = cached.number, cached.version + 1
        status = change.status or cached.status
        run_number = self._next_run_number()
        row = encode_started_run(run_number, number, change.new_runs[0])
        if row is None:
            self._last_run -= 1
            return False
        batches = self._batches
        batches.started_runs += row
        batches.statuses += encode_status(number, version, status, (run_number,))
        batches.emptied_agendas[number] = None
        self._task_cache.put(
            new_tuple(CachedTask, (number, version, cached.task, status, change.new_runs, (run_number,)))
        )
        return True

    def _add_ordinary_success(self, cached: CachedTask, change: Change, loaded: LoadedFacts) -> None:
        number, version = cached.number, cached.version + 1
        status, run = change.status or cached.status, change.updated_runs[0]
        batches = self._batches
        batches.ended_runs += encode_success(cached.numbers[0], run)
        batches.count_success(run, completed=status.state is TaskState.COMPLETED)
        batches.statuses += encode_status(number, version, status)
        loaded.tasks[number] = updated = new_tuple(CachedTask, (number, version, cached.task, status, (), ()))
        self._task_cache.put(updated)

    def _add_general_change(
        self, cached: CachedTask, entries: tuple[Entry, ...], change: Change, loaded: LoadedFacts
    ) -> None:
        number = cached.number
        if change.deleted:
            self._add_deletion(cached, entries)
            del loaded.tasks[number]
            return
        if change.put or change.dropped:
            self._add_entry_changes(number, entries, change)
        new_runs = [self._add_run(number, run, loaded) for run in change.new_runs]
        for run in change.updated_runs:
            self._add_moved_run(cached, run, loaded)
        self._batches.cancel_requests += [(reason, run_id) for run_id, reason in change.cancelled]
        if change.status is not None or change.task is not None or new_runs or change.updated_runs or change.cancelled:
            self._add_task_update(cached, apply_change(cached, change, new_runs), loaded)

    def _add_task_update(self, before: CachedTask, cached: CachedTask, loaded: LoadedFacts) -> None:
        number, version, task, status, _, live = cached
        if task is not before.task:
            if task.id != before.task.id:
                raise StoreError(f"The task {before.task.id} cannot become {task.id}; nothing was written.")
            self._batches.edited_tasks.append((*encode_task(task), number))
        self._batches.statuses += encode_status(number, version, status, live)
        loaded.tasks[number] = cached
        self._task_cache.put(cached)

    def _next_run_number(self) -> int:
        if self._last_run < 0:
            ((self._last_run,),) = self._connection.query(_LAST_RUN)
        self._last_run += 1
        return self._last_run

    def _add_run(self, number: int, run: Run, loaded: LoadedFacts | None) -> int:
        run_number = self._next_run_number()
        self._batches.new_runs += encode_new_run(run_number, number, run)
        if run.lanes and run.state in LIVE_STATES:
            for lane in run.lanes:
                self._batches.taken_slots += (lane, run.id)
            if loaded is not None:
                loaded.lane_state.add_taken(run.lanes, 1)
        return run_number

    def _add_moved_run(self, cached: CachedTask, run: Run, loaded: LoadedFacts) -> None:
        before, run_number = cached.find_run(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self._batches.updated_runs.append(encode_run_update(run_number, run))
        lanes_now = run.lanes if run.state in LIVE_STATES else ()
        if before.lanes != lanes_now:
            self._batches.freed_slots += [(lane, run.id) for lane in before.lanes]
            for lane in lanes_now:
                self._batches.taken_slots += (lane, run.id)
            loaded.lane_state.add_taken(before.lanes, -1)
            loaded.lane_state.add_taken(lanes_now, 1)
            if not lanes_now:
                self._freed_lanes.update(before.lanes)

    def _add_entry_changes(self, number: int, entries: tuple[Entry, ...], change: Change) -> None:
        changed_slots = {*change.dropped, *(entry.slot for entry in change.put)}
        # The entry may have been unparked for a free lane slot. If it does not use it, the next entry is unparked.
        self._freed_lanes.update(
            entry.lane
            for entry in entries
            if entry.lane is not None and entry.state in CLAIMABLE and entry.slot in changed_slots
        )
        entry_rows = self._batches.entries
        for slot in change.dropped:
            entry_rows[number, slot] = None
        for entry in change.put:
            entry_rows[number, entry.slot] = encode_entry(number, entry)

    def _add_deletion(self, cached: CachedTask, entries: tuple[Entry, ...]) -> None:
        batches = self._batches
        batches.deleted_tasks.append(cached.number)
        batches.emptied_agendas[cached.number] = None
        for entry in entries:
            # An entry from an earlier decision of this request must not be written after the deletion.
            batches.entries.pop((cached.number, entry.slot), None)
        for run in cached.live:
            batches.freed_slots += [(lane, run.id) for lane in run.lanes]
            self._freed_lanes.update(run.lanes)
        self._freed_lanes.update(entry.lane for entry in entries if entry.lane is not None and entry.state in CLAIMABLE)
        self._task_cache.discard(cached.number)

    def flush(self) -> None:
        """Write all batches, then unpark entries for freed lane slots."""
        self._batches.write(self._connection)
        for lane in sorted(self._freed_lanes):
            self._connection.query(_UNPARK, {"lane": lane, "unset": DEFAULT_LIMIT})


def _run_id(numbered: tuple[int, Run]) -> str:
    _, run = numbered
    return run.id
