"""Unit of work of one transaction: collects the changes that were decided, keeps the loaded facts current, flushes once."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import StoreError
from ...model.change import Change
from ...model.entry import CLAIMABLE, Entry
from ...model.ids import to_microseconds
from ...model.route import is_route
from ...model.run import LIVE_STATES, Run, RunState
from ...model.task import TaskState
from ..codec.json_codecs import microseconds_of, replace_lone_surrogates
from ..codec.rows import (
    encode_ended_run,
    encode_entry,
    encode_started_run,
    encode_status,
    encode_task,
    names_planned_instant,
    new_tuple,
)
from ..run_deduplication import deduplicate_runs
from ..task_cache import CachedTask, TaskCache, apply_change
from .attached_records import write_attached_records
from .connection import Connection
from .folded_decisions import FoldedDecisions
from .load_facts import LoadedFacts
from .row_batches import RowBatches


class UnitOfWork:
    """Collects changes as rows. Later decisions of the transaction see the result; `flush` writes the rows."""

    def __init__(self, loaded: LoadedFacts) -> None:
        self.batches = RowBatches()
        self._loaded = loaded
        self._freed_lanes: set[str] = set()
        self._new_run_ids: set[str] = set()
        """Ids of new runs that the ledger was checked not to contain."""
        self._cache_updates: dict[int, CachedTask | None] = {}
        self._folded: FoldedDecisions | None = FoldedDecisions()
        """Set while every change is of one ordinary kind: these are written whole by one statement, not as row batches."""

    def update_cache(self, cache: TaskCache) -> None:
        """Put the new versions of the tasks into the cache. Call it only after the commit."""
        folded = self._folded
        cache.update(self._cache_updates, () if folded is None else folded.emptied_tasks)

    def offer_slots(self, lane: str) -> None:
        self._freed_lanes.add(lane)

    # --- deduplication of new runs ----------------------------------------------------------------------------------------------------

    async def find_existing_runs(self, connection: Connection, number: int, change: Change) -> frozenset[str]:
        """Return the ids of the change's new runs that the ledger has already, or will have after the flush."""
        return frozenset([run.id for run in change.new_runs if await self._run_exists(connection, number, run)])

    async def deduplicate_runs(self, connection: Connection, number: int, change: Change) -> Change:
        if not change.new_runs:
            return change
        existing = await self.find_existing_runs(connection, number, change)
        change = deduplicate_runs(change, lambda run: run.id in existing)
        self._new_run_ids.update(run.id for run in change.new_runs)
        return change

    async def _run_exists(self, connection: Connection, number: int, run: Run) -> bool:
        if run.id in self._new_run_ids:
            return True
        return bool(
            await connection.query(
                "existing_run", number, to_microseconds(run.planned), run.attempt, run.origin, run.id
            )
        )

    # --- changes ---------------------------------------------------------------------------------------------------

    async def add_task(self, connection: Connection, number: int, change: Change) -> None:
        """Add the change that creates a task."""
        self._unfold()
        change = await self.deduplicate_runs(connection, number, change)
        for run in change.new_runs:
            self.batches.add_run(number, run)
        self.batches.add_task(number, change)

    def add_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        """Add a change that was decided on `known` and `entries`; later decisions see the task as changed."""
        if self._folded is not None:
            now_known = self._folded.add(known, entries, change)
            if now_known is not None:
                self._update_known(now_known)
                return
            self._unfold()
        self._add_unfolded(known, entries, change)

    def _unfold(self) -> None:
        """Turn the folded changes into row batches: a change of another kind follows, or the server has no fast path."""
        folded, self._folded = self._folded, None
        for decision in () if folded is None else folded.decisions:
            self._add_unfolded(*decision)

    def _add_unfolded(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        added = self._add_ordinary_start(known, entries, change) if change[2] else self._add_ordinary_end(known, change)
        if not added:
            self._add_general_change(known, entries, change)
            self.batches.count_change(known.task.owner, known.status, change)
        if change[9]:
            self.batches.attached_records += change[9]
        events = self.batches.events
        for kind, at, owner, task_id, run_id, detail in change[7]:
            events.append(
                (
                    kind,
                    microseconds_of[at],
                    owner,
                    task_id,
                    run_id,
                    None if detail is None else replace_lone_surrogates(detail),
                )
            )

    def _update_known(self, known: CachedTask) -> None:
        self._loaded.tasks[known[0]] = known
        self._cache_updates[known[0]] = known

    def _add_ordinary_start(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> bool:
        """Add an ordinary start: the only entry of a task without live runs became a run. Return False for anything else."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, _, live, _ = known
        if standing is None or live or len(born) != 1 or len(entries) != 1 or len(dropped) != 1:
            return False
        entry = entries[0]
        if moved or cancelled or put or deleted or task is not None or dropped[0] != entry[1] or entry[16] is not None:
            return False
        row = encode_started_run(0, number, born[0])
        if row is None:
            return False
        sheets = self.batches
        sheets.started_runs += row[1:]
        sheets.statuses[number] = encode_status(number, version + 1, standing)[:-1]
        sheets.emptied_agendas[number] = None
        self._update_known(new_tuple(CachedTask, (number, version + 1, known_task, standing, born, (0,))))
        return True

    def _add_ordinary_end(self, known: CachedTask, change: Change) -> bool:
        """Add an ordinary end: the only live run ended and the agenda is unchanged. Return False for anything else."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, before_standing, live, _ = known
        if standing is None or len(live) != 1 or len(moved) != 1 or born or put or dropped:
            return False
        before, run = live[0], moved[0]
        if cancelled or deleted or task is not None or before[0] != run[0] or before[21]:
            return False
        row = encode_ended_run(0, before, run)
        if row is None or not names_planned_instant(run[0], microseconds_of[run[4]]):
            # A run whose id does not encode its planned instant is indexed separately in the ledger.
            return False
        sheets = self.batches
        sheets.ended_runs += (run[0], *row[1:])
        state = standing[0]
        stays_healthy = before_standing[0] is TaskState.ACTIVE and state in (TaskState.ACTIVE, TaskState.COMPLETED)
        if stays_healthy and row[1] is RunState.SUCCEEDED and row[3] is not None:
            sheets.count_success(run[2], row, microseconds_of[run[5]], before_standing, standing)
        else:
            sheets.count_change(run[2], before_standing, change)
        sheets.statuses[number] = encode_status(number, version + 1, standing)[:-1]
        self._update_known(new_tuple(CachedTask, (number, version + 1, known_task, standing, (), ())))
        return True

    def _add_general_change(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> None:
        number = known.number
        if change.deleted:
            self._add_deletion(known, entries)
            return
        if change.put or change.dropped:
            self._add_entry_changes(number, entries, change)
        for run in change.new_runs:
            self.batches.add_run(number, run)
            self._loaded.lane_state.add_taken(run.lanes if run.state in LIVE_STATES else (), 1)
        for run in change.updated_runs:
            self._add_moved_run(known, run)
        if any(change[:7]):
            # A change of the agenda alone raises the version too: other nodes compare it with the one they decided on.
            self._add_task_update(known, apply_change(known, change, (0,) * len(change.new_runs)), change)

    def _add_task_update(self, before: CachedTask, known: CachedTask, change: Change) -> None:
        number, version, task, standing, live, _ = known
        if task is not before.task:
            if task.id != before.task.id:
                raise StoreError(f"The task {before.task.id} cannot become {task.id}; nothing was written.")
            self.batches.edited_tasks.append((*encode_task(task), number))
        self.batches.statuses[number] = encode_status(number, version, standing)[:-1]
        cancelled_ids = {run_id for run_id, _ in change.cancelled}
        for run in live:
            if run.id in cancelled_ids:
                self.batches.update_run(number, run, run)
        self._update_known(known)

    def _add_moved_run(self, known: CachedTask, run: Run) -> None:
        before, _ = known.find_run(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self.batches.update_run(known.number, before, run)
        lanes = run.lanes if run.state in LIVE_STATES else ()
        if before.lanes != lanes:
            self._loaded.lane_state.add_taken(before.lanes, -1)
            self._loaded.lane_state.add_taken(lanes, 1)
            if not lanes:
                self._freed_lanes.update(before.lanes)

    def _add_entry_changes(self, number: int, entries: tuple[Entry, ...], change: Change) -> None:
        touched = {*change.dropped, *(entry.slot for entry in change.put)}
        self._offer_claimable_lanes(e for e in entries if e.slot in touched)
        pending = self.batches.entries
        for slot in change.dropped:
            pending[number, slot] = None
        for entry in change.put:
            pending[number, entry.slot] = encode_entry(number, entry)

    def _offer_claimable_lanes(self, entries: Iterable[Entry]) -> None:
        """Offer the lanes of claimable entries: an entry may have been unparked for a free slot, and if it does not take
        that slot, the next parked entry must be unparked."""
        self._freed_lanes.update(
            e.lane for e in entries if e.lane is not None and e.state in CLAIMABLE and not is_route(e.lane)
        )

    def _add_deletion(self, known: CachedTask, entries: tuple[Entry, ...]) -> None:
        sheets = self.batches
        sheets.deleted_tasks.append(known.number)
        sheets.emptied_agendas[known.number] = None
        for entry in entries:
            # An entry that an earlier decision of this transaction added must not be written after the deletion.
            sheets.entries.pop((known.number, entry.slot), None)
        for run in known.live:
            sheets.changed_live_runs.pop(run.id, None)
            sheets.new_runs.pop(run.id, None)
            for lane in run.lanes:
                sheets.freed_slots += (lane, run.id)
            self._loaded.lane_state.add_taken(run.lanes, -1)
            self._freed_lanes.update(run.lanes)
        self._offer_claimable_lanes(entries)
        del self._loaded.tasks[known.number]
        self._cache_updates[known.number] = None

    async def flush(self, connection: Connection) -> None:
        """Write all rows, unpark entries that wait for the lane slots that became free, then write attached records."""
        folded = self._folded
        if folded is None or not folded.decisions or not await connection.write_folded(folded):
            self._unfold()
            await self.batches.write(connection)
        lane_state = self._loaded.lane_state
        if self._freed_lanes:
            await lane_state.lock_lanes(connection, self._freed_lanes)
            for lane in sorted(self._freed_lanes):
                if lane_state.free_slots(lane):
                    await connection.query("unpark", lane, lane_state.free_slots(lane))
        if self.batches.attached_records:
            await write_attached_records(connection, self.batches.attached_records)
