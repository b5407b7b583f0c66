"""All tables of the in-memory store: loads the facts of a task and applies a change, within one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from ...errors import StoreError
from ...lifecycle.chain import OccurrenceEnd, ended_occurrences
from ...lifecycle.lanes.rate import keep_last_starts, next_start, record_starts, starts_left
from ...model.accounts.system_owner import is_readable
from ...model.change import Change, Facts
from ...model.counts import counter_deltas
from ...model.entry import CLAIMABLE, Entry, EntryState
from ...model.gate import GATE_STATE_KIND
from ...model.lanes.idle import IDLE_RUNS_KIND, IdleRun, YieldReason, idle_runs_of, record_writes
from ...model.lanes.lane import DEFAULT_LIMIT, LaneUse, block_reason, owner_lane
from ...model.lanes.rate import Rate, StartsAt
from ...model.lanes.route import is_queue, place_entries
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import NEW_TASK_STATUS, Task, TaskStatus
from ...model.task_data import TASK_DATA_KIND
from ...ports.journal import Line
from ...ports.store import LinkObserver, Node
from ..chains import Relink, change_of_links, follow_chains, ignore_links, relink
from ..messages import StreamWrites, stream_writes_of, write_streams
from ..run_deduplication import deduplicate_runs
from ..run_to_end import run_to_end
from .chains import ChainRows, MemoryChainAccess
from .counts import Counters
from .entries import Entries, key_of
from .events import Events
from .messages import MemoryMessageAccess, MessageTables
from .record_rows import RecordRows
from .runs import Runs
from .table import Table, Transaction
from .tasks import Numbers, Tasks


class Data:
    def __init__(self) -> None:
        self._transaction = Transaction()
        self.lock = self._transaction.lock
        self.numbers = Numbers(self._transaction)
        self.tasks = Tasks(self._transaction, self.numbers)
        self.statuses: Table[str, TaskStatus] = Table(self._transaction)
        self.entries = Entries(self._transaction, self.numbers)
        self.runs = Runs(self._transaction)
        self.events = Events(self._transaction)
        self.counters = Counters(self._transaction)
        self.lane_limits: Table[str, int] = Table(self._transaction)
        self.lane_rates: Table[str, Rate] = Table(self._transaction)
        self.lane_starts: Table[str, tuple[StartsAt, ...]] = Table(self._transaction)
        """The last starts of lanes with a rate, oldest first."""
        self.lane_wakeups: Table[str, datetime] = Table(self._transaction)
        """Instant at which entries that wait in a lane with a rate are to be unparked."""
        self.claim_instant: datetime | None = None
        """Instant of the claim; None outside of claims."""
        self.lane_turns: Table[str, str] = Table(self._transaction)
        """Owner that got the last slot, by lane."""
        self.blocked_owners: Table[str, Reason] = Table(self._transaction)
        self.nodes: Table[str, Node] = Table(self._transaction)
        self.lines: Table[str, list[Line]] = Table(self._transaction)
        self.records = RecordRows(self._transaction)
        self.chain_rows = ChainRows(self._transaction)
        self.messages = MessageTables(self._transaction)
        self.metadata: dict[str, str] = {}
        self.token = 0
        self.last_owner = ""
        self._freed_lanes: set[str] = set()
        self._attached_records: list[RecordWrite] = []
        self._ends: list[OccurrenceEnd] = []
        self._relinks: list[Relink] = []
        self._linked: list[Change] = []
        """Changes of tasks that run after those of this transaction."""
        self.on_linked: LinkObserver = ignore_links
        self._stream_writes: list[StreamWrites] = []
        self._last_number = 0

    @contextmanager
    def claim_transaction(self, now: datetime) -> Iterator[None]:
        """Run the transaction of a claim: the rates of lanes are judged at this instant."""
        with self.lock:
            self.claim_instant = now
            try:
                with self.transaction():
                    yield
            finally:
                self.claim_instant = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction; at its end, unpark entries for freed lane slots, then write messages and the attached records.

        Raises a `record_changed` refusal, and rolls back, if an attached record has another version than expected.
        """
        with self._transaction:
            self._freed_lanes.clear()
            self._attached_records.clear()
            self._ends.clear()
            self._relinks.clear()
            self._linked.clear()
            self._stream_writes.clear()
            yield
            run_to_end(self._follow_chains())
            for lane in sorted(self._freed_lanes):
                self.offer_slots(lane)
            if self._stream_writes:
                written = run_to_end(write_streams(MemoryMessageAccess(self), self._stream_writes))
                self.attach_records(written.records)
            for writing in self._attached_records:
                if not self.records.write_if_unchanged(writing):
                    raise refuse("record_changed", kind=writing.record.kind, key=writing.record.key)
        if self._linked:
            self.on_linked(tuple(self._linked))

    async def _follow_chains(self) -> None:
        access = MemoryChainAccess(self)
        ends = list(self._ends)
        for relinked in self._relinks:
            ends += await relink(access, relinked)
        await follow_chains(access, ends)

    def write_linked(self, task_id: str, change: Change) -> None:
        """Write the change of a linked task."""
        self._linked.append(change)
        self.write(task_id, change)

    def attach_records(self, writings: Sequence[RecordWrite]) -> None:
        self._attached_records += writings

    def mark_lane_freed(self, lane: str) -> None:
        self._freed_lanes.add(lane)

    def lane_limit(self, lane: str) -> int:
        limit = self.lane_limits.get(lane)
        return DEFAULT_LIMIT if limit is None else limit

    def slots_in_use(self, lane: str) -> int:
        return len(self.runs.lane_slots.members_of(lane))

    def offer_slots(self, lane: str) -> None:
        """Unpark the entries that the lane has slots and starts for; with a rate, set the wake-up for the next one."""
        rate = self.lane_rates.get(lane)
        if rate is None:
            self._unpark_first(lane, self._free_slots(lane))
            return
        kept = self.lane_starts.get(lane) or ()
        left = starts_left(rate, kept, self.claim_instant) - self.entries.offered(lane)
        self._unpark_first(lane, min(self._free_slots(lane), left))
        is_waiting = self.entries.has_parked(lane) and self._free_slots(lane) > 0
        self.lane_wakeups.write(lane, next_start(rate, kept, self.entries.offered(lane)) if is_waiting else None)

    def _free_slots(self, lane: str) -> int:
        return self.lane_limit(lane) - self.slots_in_use(lane) - self.entries.offered(lane)

    def _unpark_first(self, lane: str, count: int) -> None:
        for entry in self.entries.first_parked(lane, count, self.lane_turns.get(lane) or ""):
            self.entries.write(key_of(entry), entry._replace(state=EntryState.TIMED))
            self.lane_turns.write(lane, entry.owner)

    def drop_unused_lane_turns(self) -> None:
        """Forget the last owner of each lane that has no run and no entry that waits."""
        for lane in tuple(self.lane_turns.all_keys()):
            if not self.slots_in_use(lane) and not self.entries.has_parked(lane) and not self.entries.offered(lane):
                self.lane_turns.write(lane, None)

    def next_due(self) -> datetime | None:
        """Return the head of the agenda: the earliest due entry, or wake-up of a lane."""
        heads = [self.entries.next_due(), min(self.lane_wakeups, default=None)]
        return min((head for head in heads if head is not None), default=None)

    def wake_lanes(self, now: datetime) -> None:
        """Unpark entries of the lanes whose wake-up is due, in a transaction of its own."""
        due = [lane for lane in self.lane_wakeups.all_keys() if self.lane_wakeups[lane] <= now]
        if due:
            with self.claim_transaction(now):
                self._freed_lanes.update(due)

    def facts(self, task_id: str, owner: str | None = None, *, lanes: bool = True) -> Facts | None:
        task = self.tasks.get(task_id)
        if task is None or not is_readable(owner, task.owner):
            return None
        return Facts(
            task,
            self.statuses[task_id],
            self.entries.of_task(task_id),
            self.runs.live(task_id),
            self._lane_uses(task) if lanes else (),
            block_reason(task.owner, task.lane, self.blocked_owners.get),
        )

    def _lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        owners_lane = owner_lane(task.owner)
        names = list(task.lanes)
        if owners_lane in self.lane_limits and owners_lane not in names:
            names.append(owners_lane)
        return tuple(map(self.lane_use, names))

    def lane_use(self, name: str) -> LaneUse:
        entries, rate, now = self.entries, self.lane_rates.get(name), self.claim_instant
        use = LaneUse(
            name,
            self.lane_limit(name),
            self.slots_in_use(name),
            entries.offered(name),
            entries.has_parked(name),
            idle_runs_of(self.records.get((IDLE_RUNS_KIND, name))),
            rate,
        )
        if rate is None or now is None:
            return use
        return use._replace(starts_left=starts_left(rate, self.lane_starts.get(name) or (), now))

    def readers_use(self, name: str, limit: int, used: int) -> LaneUse:
        """Return the use of a lane as readers get it: with the earliest instant of its next start."""
        rate = self.lane_rates.get(name)
        if rate is None:
            return LaneUse(name, limit, used)
        return LaneUse(name, limit, used, rate=rate, next_start=next_start(rate, self.lane_starts.get(name) or ()))

    def set_rate(self, lane: str, rate: Rate | None) -> None:
        """Set or remove the rate of a lane; the starts that were kept under the former rate stay."""
        kept = self.lane_starts.get(lane) or ()
        self.lane_rates.write(lane, rate)
        self.lane_starts.write(lane, None if rate is None else keep_last_starts(rate, kept))
        self.lane_wakeups.write(lane, None)

    def put_idle_runs(self, idle_runs: Sequence[IdleRun]) -> None:
        for run in idle_runs:
            before = self._idle_runs(run.lane)
            self._write_idle_runs(run.lane, before, {**before, run.run_id: run})

    def drop_idle_run(self, run: Run) -> None:
        for lane in run.lanes:
            before = self._idle_runs(lane)
            if run.id in before:
                self._write_idle_runs(lane, before, {key: each for key, each in before.items() if key != run.id})

    def yield_reason(self, run: Run) -> YieldReason | None:
        """Return why an idle run is asked to yield."""
        found = (self._idle_runs(lane).get(run.id) for lane in run.lanes)
        return next((each.yield_reason for each in found if each is not None and each.yield_kind is not None), None)

    def is_idle(self, run: Run) -> bool:
        return any(run.id in self._idle_runs(lane) for lane in run.lanes)

    def _idle_runs(self, lane: str) -> dict[str, IdleRun]:
        record = self.records.get((IDLE_RUNS_KIND, lane))
        return {} if record is None else {run.run_id: run for run in idle_runs_of(record)}

    def _write_idle_runs(self, lane: str, before: dict[str, IdleRun], after: dict[str, IdleRun]) -> None:
        record = self.records.get((IDLE_RUNS_KIND, lane))
        for writing in record_writes(lane, None if record is None else record.version, before, after):
            self.records.write_if_unchanged(writing)

    def find_existing_runs(self, change: Change) -> frozenset[str]:
        """Return the ids of the change's new runs that the ledger already has."""
        return frozenset(run.id for run in change.new_runs if run.id in self.runs)

    def deduplicate_runs(self, change: Change) -> Change:
        return deduplicate_runs(change, lambda run: run.id in self.runs) if change.new_runs else change

    def apply(self, task_id: str, change: Change) -> None:
        """Apply a change; the end of the transaction follows the occurrences that it ends to the successors."""
        change = self.deduplicate_runs(change)
        before = self.tasks.get(task_id)
        if before is not None and before.successors and not change.deleted:
            facts = self.facts(task_id, lanes=False)
            self._ends += () if facts is None else ended_occurrences(facts, change)
        relinked = change_of_links(before, change)
        self._relinks += () if relinked is None else (relinked,)
        self.write(task_id, change)

    def write(self, task_id: str, change: Change) -> None:
        """Write a change as it is."""
        change = self.deduplicate_runs(change)
        task = change.task or self.tasks.get(task_id)
        if change.put and task is not None and task.policies.where:
            change = place_entries(task, change)
        self._count(task_id, change)
        if change.deleted:
            self._delete(task_id)
        else:
            self._write_task(task_id, change.task, change.status)
            self._write_runs(change)
            self._take_turns(task_id, change)
            for slot in change.dropped:
                self._replace_entry(task_id, slot, None)
            for entry in change.put:
                # Ready queues are internal to the store.
                put = entry._replace(state=EntryState.TIMED) if entry.state is EntryState.READY else entry
                self._replace_entry(task_id, put.slot, put)
        if change.idle_runs:
            self.put_idle_runs(change.idle_runs)
        for event in change.events:
            self.events.append(event)
        for row in change.chain_rows:
            self.chain_rows.put(row)
        self.attach_records(change.attached)
        if change.messages or change.moves:
            self._stream_writes.append(stream_writes_of(self.tasks[task_id], change))

    def _count(self, task_id: str, change: Change) -> None:
        task, before = self.tasks.get(task_id) or change.task, self.statuses.get(task_id)
        if task is not None:
            status = change.status or before or NEW_TASK_STATUS
            self.counters.add(task.owner, counter_deltas(before, change._replace(status=status)))

    def _write_task(self, task_id: str, task: Task | None, status: TaskStatus | None) -> None:
        if task is not None:
            if task.id != task_id:
                raise StoreError(f"The task {task_id} cannot become {task.id}; nothing was written.")
            holder = None if task.key is None else self.tasks.with_key(task.owner, task.key)
            if holder not in (None, task_id):
                raise refuse("key_taken", key=task.key)
            if status is None and task_id not in self.statuses:
                status = NEW_TASK_STATUS
            self.assign_number(task_id)
            self.tasks.write(task_id, task)
        if status is not None:
            self.statuses.write(task_id, status)

    def assign_number(self, task_id: str) -> None:
        """Give a new task the next number, after all other tasks."""
        if task_id not in self.numbers:
            self._last_number += 1
            self.numbers.write(task_id, self._last_number)

    def _write_runs(self, change: Change) -> None:
        for run in change.new_runs:
            self.runs.write(run.id, run)
        for run in change.updated_runs:
            self._update_run(run)
        for run_id, reason in change.cancelled:
            cancelled = self.runs.get(run_id)
            if cancelled is not None and cancelled.live:
                self.runs.write(run_id, cancelled._replace(cancel=reason))

    def _take_turns(self, task_id: str, change: Change) -> None:
        """Record the owner of each new live run in its lanes; an unparked entry had its turn when it was unparked."""
        unparked = {entry.lane for entry in self.entries.of_task(task_id) if entry.state in CLAIMABLE}
        for run in change.new_runs:
            for lane in run.lanes if run.live else ():
                if lane not in unparked:
                    self.lane_turns.write(lane, run.owner)
                self._record_start(lane)

    def _record_start(self, lane: str) -> None:
        rate, now = self.lane_rates.get(lane), self.claim_instant
        if rate is not None and now is not None:
            self.lane_starts.write(lane, record_starts(rate, self.lane_starts.get(lane) or (), now, 1))
            self._freed_lanes.add(lane)

    def _update_run(self, run: Run) -> None:
        before = self.runs.get(run.id)
        if before is None or not before.live:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self.runs.write(run.id, run)
        self.drop_idle_run(before)
        if not run.live:
            self._freed_lanes.update(before.lanes)

    def _replace_entry(self, task_id: str, slot: str, entry: Entry | None) -> None:
        before = self.entries.get((task_id, slot))
        if before is not None and before.lane is not None and before.state in CLAIMABLE and not is_queue(before.lane):
            # The entry may have been unparked for a free lane slot. If it does not use it, the next entry is unparked.
            self._freed_lanes.add(before.lane)
        if entry is not None and entry.state is EntryState.PARKED and (entry.lane or "") in self.lane_rates:
            self._freed_lanes.add(entry.lane or "")
        self.entries.write((task_id, slot), entry)

    def _delete(self, task_id: str) -> None:
        for _, _, run_id in list(self.runs.history(task_id).ascending()):
            self.delete_run(run_id)
        for entry in self.entries.of_task(task_id):
            self._replace_entry(task_id, entry.slot, None)
        self._delete_rows(task_id)

    def delete_task(self, task_id: str) -> None:
        """Delete a task without runs and entries, and count the deletion."""
        self._count(task_id, Change(deleted=True))
        self._delete_rows(task_id)

    def _delete_rows(self, task_id: str) -> None:
        for row in self.chain_rows.of_task(task_id):
            self.chain_rows.delete(row)
        for kind in (GATE_STATE_KIND, TASK_DATA_KIND):
            if self.records.get((kind, task_id)) is not None:
                self.records.write((kind, task_id), None)
        self.statuses.write(task_id, None)
        self.tasks.write(task_id, None)
        self.numbers.write(task_id, None)

    def delete_run(self, run_id: str) -> None:
        run = self.runs[run_id]
        if run.live:
            self.drop_idle_run(run)
            self._freed_lanes.update(run.lanes)
        self.lines.write(run_id, None)
        self.runs.write(run_id, None)
