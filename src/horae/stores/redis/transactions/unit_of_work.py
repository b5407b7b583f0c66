"""Unit of work of one transaction: tasks with all changes that were decided, and the consequences for lanes and chains.

Documents and indexes are written at the end, from the difference between the documents as they were read and as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from ....errors import StoreError
from ....lifecycle.chain import OccurrenceEnd, ended_occurrences
from ....model.change import NOTHING, TAGS, Change, Facts, OrdinaryStart, OrdinarySuccess, Start, Success
from ....model.entry import CLAIMABLE, Entry, EntryState
from ....model.gate import GATE_STATE_KIND
from ....model.lanes.route import is_queue, is_route, place_entries
from ....model.refusals import refuse
from ....model.run import LIVE_STATES, Run
from ....model.task import NEW_TASK_STATUS, Task
from ....model.task_data import TASK_DATA_KIND
from ....ports.records import RecordWrite
from ...chains import Relink, change_of_links, follow_chains, relink
from ...codec.rows import new_tuple
from ...counter_deltas import CounterDeltas
from ...messages import StreamWrites, stream_writes_of, write_streams
from ...pending_changes import require_definition
from ...run_deduplication import deduplicate_runs
from ..claims.lane_queue import choose_parked
from ..claims.lanes import Lanes
from ..layout.counters import add_counts
from ..layout.document_cache import DocumentCache
from ..layout.documents import (
    StoredTask,
    TaskDocument,
    decode_task_document,
    encode_event_text,
    encode_run_document,
    encode_state_line,
    encode_task_document,
    state_line_at,
)
from ..layout.indexes import IndexChanges
from ..layout.keys import key_field
from ..layout.lane_documents import NO_LIMITS, OwnerLimits, decode_limits
from .chains import ChainRows, RedisChainAccess
from .deletion import delete_history
from .message_access import RedisMessageAccess
from .ordinary import OrdinaryWrites
from .plan_writes import KnownPlan, PlanWrites, is_plan_key, is_plan_task
from .record_writes import put_record, read_record, write_attached_records
from .transaction import Committed, Transaction

_ORDINARY: Final = frozenset({OrdinaryStart, OrdinarySuccess})


class KnownTask:
    """A task in the course of a transaction. `before` None: it is new; `after` None: it does not exist, or was deleted."""

    __slots__ = ("after", "before", "ended", "is_counted", "state_at")

    def __init__(self, before: TaskDocument | None, state_at: int = 0) -> None:
        self.before = before
        self.after = before
        self.state_at = state_at
        """Where the second line of its stored text begins."""
        self.is_counted = before is not None
        """Whether the counters have its state."""
        self.ended: dict[str, Run] = {}
        """Runs that have ended in this transaction, by id."""

    def find_run(self, run_id: str) -> Run | None:
        """Return a live run."""
        for run in () if self.after is None else self.after.live:
            if run.id == run_id:
                return run
        return None


class UnitOfWork:
    """Loads tasks and lanes, applies changes, and finishes with the consequences. Decisions see the changes before them."""

    def __init__(
        self,
        transaction: Transaction,
        limits: OwnerLimits = NO_LIMITS,
        now: datetime | None = None,
    ) -> None:
        self.transaction: Final = transaction
        self.tasks: dict[str, KnownTask] = {}
        self.lanes: Final = Lanes(transaction, limits, now)
        self.freed_lanes: set[str] = set()
        self.attached: list[RecordWrite] = []
        self.linked_changes: list[Change] = []
        """Changes of tasks that run after those of this transaction."""
        self.chain_rows: Final = ChainRows(transaction)
        self.plans: Final = PlanWrites(transaction, now)
        self._ordinary: Final = OrdinaryWrites(transaction)
        self._counters = CounterDeltas()
        self._ends: list[OccurrenceEnd] = []
        self._relinks: list[Relink] = []
        self._stream_writes: list[StreamWrites] = []
        self._new_run_ids: set[str] = set()

    # --- loading -------------------------------------------------------------------------------------------------------

    async def load(self, task_ids: Iterable[str], cache: DocumentCache | None = None) -> None:
        """Load tasks and their lanes. A task that the cache has is not read: the commit checks its version."""
        keys, transaction = self.transaction.keys, self.transaction
        missing: list[str] = []
        for task_id in dict.fromkeys(task_ids):
            if task_id in self.tasks or self._load_started(task_id):
                continue
            cached = None if cache is None else cache.get(task_id)
            if cached is None:
                missing.append(task_id)
            else:
                transaction.guard(keys.task(task_id), cached.version)
                self.tasks[task_id] = KnownTask(cached.document, cached.state_at)
        for task_id, text in zip(missing, await transaction.read(map(keys.task, missing)), strict=True):
            self.tasks[task_id] = (
                KnownTask(None) if text is None else KnownTask(decode_task_document(text), state_line_at(text))
            )
        await self.load_lanes()

    def take(self, document: TaskDocument, state_at: int) -> None:
        """Take a task whose document was read already."""
        self.tasks[document.task.id] = KnownTask(document, state_at)

    def _load_started(self, task_id: str) -> bool:
        """Load a task with an ordinary start in this transaction; return whether it is one."""
        started = self._ordinary.take_start(task_id)
        if started is None:
            return False
        known = self.tasks[task_id] = KnownTask(started.stored.document, started.stored.state_at)
        known.after = started.after
        return True

    async def load_lanes(self, further: Iterable[str] = (), tasks: Iterable[Task] = ()) -> None:
        """Load the lanes of all loaded tasks, of their runs and of their entries, and further ones; and those of other tasks."""
        documents = [known.after for known in self.tasks.values() if known.after is not None]
        lanes = set(further)
        for document in documents:
            for run in document.live:
                lanes.update(run.lanes)
            for entry in document.entries:
                if entry.lane is not None and not is_route(entry.lane):
                    lanes.add(entry.lane)
        await self.lanes.load([*(document.task for document in documents), *tasks], lanes)

    def facts(self, task_id: str, *, with_lanes: bool = True) -> Facts | None:
        document = self.tasks[task_id].after
        if document is None:
            return None
        _, task, status, entries, live = document
        lanes = self.lanes
        if not with_lanes or (lanes.is_unrestricted and task.lane is None):
            return Facts(task, status, entries, live)
        return Facts(task, status, entries, live, lanes.lane_uses(task), lanes.block_reason(task))

    def require_facts(self, task_id: str) -> Facts:
        facts = self.facts(task_id)
        if facts is None:
            raise StoreError(f"There is no task {task_id}, but something of it is left.")
        return facts

    # --- changes -------------------------------------------------------------------------------------------------------

    def find_existing_runs(self, task_id: str, change: Change) -> frozenset[str]:
        """Return the ids of the change's new runs that the ledger has already, as far as it is known before the commit."""
        known = self.tasks[task_id]
        return frozenset([run.id for run in change.new_runs if self._run_exists(known, run)])

    def _run_exists(self, known: KnownTask, run: Run) -> bool:
        if run.id in self._new_run_ids or known.find_run(run.id) is not None:
            return True
        key = self.transaction.keys.run(run.id)
        if self.transaction.is_known(key):
            return True
        # If it is there after all, the commit fails, and the transaction is run again with this knowledge.
        self.transaction.require_absent(key)
        return False

    def deduplicate(self, task_id: str, change: Change) -> Change:
        if not change.new_runs:
            return change
        known = self.tasks[task_id]
        return deduplicate_runs(change, lambda run: self._run_exists(known, run))

    async def create(self, number: int, change: Change) -> None:
        """Add the change that creates a task; refuses an id or a key that another task has."""
        task = require_definition(change)
        key = self.transaction.keys.task(task.id)
        if self.transaction.is_known(key) or self.tasks.get(task.id) is not None:
            raise StoreError("A task with this id is there already; nothing was written.")
        self.transaction.require_absent(key)
        await self._claim_key(None, task)
        known = self.tasks[task.id] = KnownTask(None)
        known.after = TaskDocument(number, task, NEW_TASK_STATUS)
        await self.lanes.load([task])
        await self._load_lanes_of(change)
        self._collect_relink(None, change)
        self.write(task.id, self.deduplicate(task.id, change))

    def add_start(self, stored: StoredTask, member: str, start: Start) -> bool:
        """Add the start of the only entry of a task, which is not loaded. Return False, without adding it, if the ledger has
        the run already."""
        run = start.run
        if run.id in self._new_run_ids or self.transaction.is_known(self.transaction.keys.run(run.id)):
            return False
        self._new_run_ids.add(run.id)
        self._ordinary.add_start(stored, member, start)
        return True

    def add_success(self, run: Run, success: Success) -> bool:
        """Add the success of the only live run of a loaded task. Return False, without adding it, where the indexes are those
        of other changes."""
        known = self.tasks[run.task_id]
        document = known.after
        if document is None or document.status.failures or known.ended or self.may_be_plan(document.task):
            return False
        self._ordinary.add_success(known, document, run, success)
        self._counters.count_success(run, success)
        return True

    async def apply(self, task_id: str, change: Change) -> None:
        """Apply a change; the end of the transaction follows the occurrences that it ends to the successors."""
        self._ordinary.end_success(task_id)
        if change.__class__ in _ORDINARY and self._apply_ordinary(self.tasks[task_id], change):
            return
        if change == NOTHING:
            return
        change = self.deduplicate(task_id, change)
        document = self.tasks[task_id].after
        before = None if document is None else document.task
        if change.task is not None and before is not None:
            if change.task.id != before.id:
                raise StoreError(f"The task {before.id} cannot become {change.task.id}; nothing was written.")
            await self._claim_key(before, change.task)
            await self.lanes.load([change.task])
        await self._load_lanes_of(change)
        if before is not None and before.successors and not change.deleted and change.__class__ not in TAGS:
            facts = self.facts(task_id, with_lanes=False)
            self._ends += () if facts is None else ended_occurrences(facts, change)
        self._collect_relink(before, change)
        self.write(task_id, change)

    def _apply_ordinary(self, known: KnownTask, change: Change) -> bool:
        """Apply a tagged change the short way: it has no consequences for lanes and other tasks. Return whether it was."""
        document = known.after
        if document is None or document.task.policies.where:
            return False
        number, task, before, entries, _ = document
        status = change.status or before
        if change.new_runs:
            (run,) = change.new_runs
            if self._run_exists(known, run):
                return False
            self._new_run_ids.add(run.id)
            known.after = new_tuple(TaskDocument, (number, task, status, change.put, change.new_runs))
        else:
            (run,) = change.updated_runs
            if known.find_run(run.id) is None:
                return False
            known.ended[run.id] = run
            known.after = new_tuple(TaskDocument, (number, task, status, entries, ()))
            self._counters.count_success(run, Success(run.started, run.ended or run.due, run.result_json, status))
        for event in change.events:
            self.transaction.add_event(event.owner, encode_event_text(event))
        return True

    async def _load_lanes_of(self, change: Change) -> None:
        """Load the lanes of the entries and runs that a change makes; nearly always they are loaded already."""
        lanes = [entry.lane for entry in change.put if entry.lane is not None and not is_route(entry.lane)]
        lanes += [lane for run in (*change.new_runs, *change.updated_runs) for lane in run.lanes]
        if lanes:
            await self.lanes.load((), lanes)

    async def _claim_key(self, before: Task | None, task: Task) -> None:
        """Make sure that no other task has the natural key of this one."""
        if task.key is None or (before is not None and (before.owner, before.key) == (task.owner, task.key)):
            return
        words = ("HGET", self.transaction.keys.task_keys, key_field(task.owner, task.key))
        taken = {
            (known.after.task.owner, known.after.task.key): known.after.task.id
            for known in self.tasks.values()
            if known.after is not None and known.after.task.key is not None
        }
        holder = taken.get((task.owner, task.key))
        if holder is None and self.transaction.is_retry:
            holder = await self.transaction.client.call(*words)
        if holder not in (None, task.id):
            raise refuse("key_taken", key=task.key)
        if holder is None:
            self.transaction.require("", *words)

    def _collect_relink(self, before: Task | None, change: Change) -> None:
        relinked = change_of_links(before, change)
        if relinked is not None:
            self._relinks.append(relinked)

    async def follow_plans(self) -> None:
        """Apply what other programs have changed of the loaded plans in the documented layout; call it before a decision."""
        if self.transaction.keys.has_plan_layout:
            for task_id, change in await self.plans.follow(self._known_plans(is_changed=False)):
                await self.apply(task_id, change)

    def may_be_plan(self, task: Task) -> bool:
        """Whether a task may be a plan that is written in the documented layout."""
        return self.transaction.keys.has_plan_layout and is_plan_key(task.key)

    def _known_plans(self, *, is_changed: bool) -> list[KnownPlan]:
        """Return the tasks that may be plans: all of them, or those that this transaction has changed."""
        return [
            KnownPlan(task_id, known.before, known.after, tuple(known.ended.values()))
            for task_id, known in self.tasks.items()
            if is_plan_task(known.before or known.after)
            and (not is_changed or known.before is not known.after or known.ended or self.plans.has_followed(task_id))
        ]

    def write_linked(self, task_id: str, change: Change) -> None:
        """Write the change of a linked task."""
        self.linked_changes.append(change)
        self.write(task_id, self.deduplicate(task_id, change))

    def write(self, task_id: str, change: Change) -> None:
        """Write a change as it is, without its consequences for linked tasks."""
        self._ordinary.end_success(task_id)
        known = self.tasks[task_id]
        document = known.after
        if document is None:
            return
        task = change.task or document.task
        if change.put and task.policies.where:
            change = place_entries(task, change)
        before_status = document.status if known.is_counted else None
        known.is_counted = True
        status = change.status or document.status
        self._counters.count_change(document.task.owner, before_status, change._replace(status=status))
        if change.deleted:
            self._delete(known, document)
        else:
            live = self._write_runs(known, document, change)
            self._take_turns(document, change)
            entries = self._write_entries(document.entries, change)
            known.after = TaskDocument(document.number, task, status, entries, live)
        if change.idle_runs:
            self.lanes.put_idle_runs(change.idle_runs)
        for event in change.events:
            self.transaction.add_event(event.owner, encode_event_text(event))
        for row in change.chain_rows:
            self.chain_rows.put(row)
        self.attached += change.attached
        if change.messages or change.moves:
            self._stream_writes.append(stream_writes_of(task, change))

    def _write_runs(self, known: KnownTask, document: TaskDocument, change: Change) -> tuple[Run, ...]:
        if not (change.new_runs or change.updated_runs or change.cancelled):
            return document.live
        live = {run.id: run for run in document.live}
        for run in change.new_runs:
            self._new_run_ids.add(run.id)
            if run.state in LIVE_STATES:
                live[run.id] = run
                self.lanes.add_taken(run.lanes, 1)
            else:
                known.ended[run.id] = run
        for run in change.updated_runs:
            self._update_run(known, live, run)
        for run_id, reason in change.cancelled:
            if run_id in live:
                live[run_id] = live[run_id]._replace(cancel=reason)
        return tuple([live[run_id] for run_id in sorted(live)])

    def _update_run(self, known: KnownTask, live: dict[str, Run], run: Run) -> None:
        before = live.get(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        if before.lanes:
            self.lanes.drop_idle_run(before.lanes, run.id)
            self.lanes.add_taken(before.lanes, -1)
        if run.state in LIVE_STATES:
            live[run.id] = run
            self.lanes.add_taken(run.lanes, 1)
        else:
            del live[run.id]
            known.ended[run.id] = run
            self.freed_lanes.update(before.lanes)

    def _take_turns(self, document: TaskDocument, change: Change) -> None:
        """Record the owner of each new live run in its lanes; an unparked entry had its turn when it was unparked."""
        with_lanes = [run for run in change.new_runs if run.lanes and run.state in LIVE_STATES]
        if not with_lanes:
            return
        unparked = {entry.lane for entry in document.entries if entry.state in CLAIMABLE}
        for run in with_lanes:
            for lane in run.lanes:
                if lane not in unparked:
                    self.lanes.take_turn(lane, run.owner)
                if self.lanes.record_start(lane):
                    self.freed_lanes.add(lane)

    def _write_entries(self, before: tuple[Entry, ...], change: Change) -> tuple[Entry, ...]:
        if not (change.put or change.dropped):
            return before
        entries = {entry.slot: entry for entry in before}
        for slot in change.dropped:
            self._replace_entry(entries.pop(slot, None), None)
        for entry in change.put:
            # Ready queues are internal to the store.
            put = entry._replace(state=EntryState.TIMED) if entry.state is EntryState.READY else entry
            self._replace_entry(entries.get(put.slot), put)
            entries[put.slot] = put
        return tuple([entries[slot] for slot in sorted(entries)])

    def _replace_entry(self, before: Entry | None, after: Entry | None) -> None:
        if before is not None and before.lane is not None and before.state in CLAIMABLE and not is_queue(before.lane):
            # The entry may have been unparked for a free lane slot. If it does not use it, the next entry is unparked.
            self._free(before.lane)
        if after is not None and after.state is EntryState.PARKED and (after.lane or "") in self.lanes.rates:
            self._free(after.lane or "")
        self.lanes.replace_entry(before, after)

    def _free(self, lane: str) -> None:
        if not is_route(lane):
            self.freed_lanes.add(lane)

    def _delete(self, known: KnownTask, document: TaskDocument) -> None:
        for run in document.live:
            self.lanes.drop_idle_run(run.lanes, run.id)
            self.lanes.add_taken(run.lanes, -1)
            self.freed_lanes.update(run.lanes)
        for entry in document.entries:
            self._replace_entry(entry, None)
        known.after = None
        known.ended.clear()

    def unpark(self, task_id: str, slot: str) -> None:
        """Make a parked entry of a loaded task claimable; it keeps its lane."""
        self._unpark(task_id, lambda entry: entry.slot == slot, keeps_lane=True)

    def unpark_from_route(self, task_id: str, slot: str, routes: frozenset[str]) -> int:
        """Make an entry claimable that is parked at one of these routes; return how many it were."""

        def is_wanted(entry: Entry) -> bool:
            return entry.slot == slot and entry.state is EntryState.PARKED and entry.lane in routes

        return self._unpark(task_id, is_wanted, keeps_lane=False)

    def _unpark(self, task_id: str, is_wanted: Callable[[Entry], bool], *, keeps_lane: bool) -> int:
        self._ordinary.end_success(task_id)
        known = self.tasks[task_id]
        document = known.after
        if document is None:
            return 0
        entries = list(document.entries)
        places = [place for place, entry in enumerate(entries) if is_wanted(entry)]
        for place in places:
            before = entries[place]
            after = before._replace(state=EntryState.TIMED, lane=before.lane if keeps_lane else None)
            self.lanes.replace_entry(before, after)
            entries[place] = after
        if places:
            known.after = document._replace(entries=tuple(entries))
        return len(places)

    # --- end -----------------------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Follow chains, unpark entries for free slots of lanes, and put everything into the transaction."""
        if self._ends or self._relinks:
            access = RedisChainAccess(self)
            ends = self._ends
            for relinked in self._relinks:
                ends += await relink(access, relinked)
            await follow_chains(access, ends)
        for lane in sorted(self.freed_lanes):
            await self._offer_slots(lane)
        attached = [*self.attached, *self.lanes.idle_record_writes()]
        if self._stream_writes:
            written = await write_streams(RedisMessageAccess(self.transaction), self._stream_writes)
            attached += written.records
        if attached:
            await write_attached_records(self.transaction, attached)
        for known in self.tasks.values():
            if known.after is None and known.before is not None:
                await self._delete_rows(known.before)
        await self.chain_rows.write()
        if self.transaction.keys.has_plan_layout:
            await self.plans.write(self._known_plans(is_changed=True))
        self._write_documents()
        self.lanes.write()
        add_counts(self.transaction, self._counters.total_deltas())

    async def _offer_slots(self, lane: str) -> None:
        """Unpark the entries that the lane has slots and starts for; with a rate, set the wake-up for the next one."""
        await self.lanes.load((), [lane])
        if self.lanes.has_waiting(lane) and (count := self.lanes.startable(lane)):
            documents = [(known.before, known.after) for known in self.tasks.values()]
            chosen = await choose_parked(self.transaction, lane, count, self.lanes.last_owner(lane), documents)
            await self.load([each.task_id for each in chosen])
            for each in chosen:
                self.unpark(each.task_id, each.slot)
                self.lanes.take_turn(lane, each.owner)
        self.lanes.set_wakeup(lane)

    async def _delete_rows(self, document: TaskDocument) -> None:
        """Delete the history of a task, and its records."""
        task = document.task
        await delete_history(self.transaction, task.id)
        await self.chain_rows.delete_all(task.id)
        for kind in (GATE_STATE_KIND, TASK_DATA_KIND):
            record = await read_record(self.transaction, kind, task.id)
            if record is not None:
                put_record(self.transaction, record, None)

    def _write_documents(self) -> None:
        keys, transaction = self.transaction.keys, self.transaction
        changes = IndexChanges(keys)
        for task_id, known in self.tasks.items():
            if (known.before is known.after and not known.ended) or self._ordinary.has_success(task_id):
                continue
            changes.replace_task(known.before, known.after, known.ended)
            for run in known.ended.values():
                transaction.require_absent(keys.run(run.id))
                transaction.put(keys.run(run.id), encode_run_document(run))
            if known.before is not known.after:
                self._write_document(keys.task(task_id), known)
        self._ordinary.write(changes)
        changes.write(transaction)

    def _write_document(self, key: str, known: KnownTask) -> None:
        """Write a task, without its definition if that stays as it is stored."""
        before, after = known.before, known.after
        if after is None:
            self.transaction.put(key, None)
        elif before is not None and before.task is after.task:
            self.transaction.put_tail(key, known.state_at, encode_state_line(after))
        else:
            text = encode_task_document(after)
            known.state_at = state_line_at(text)
            self.transaction.put(key, text)

    def update_cache(self, cache: DocumentCache, committed: Committed) -> None:
        """Cache the written tasks; call it after the commit."""
        if not committed.number:
            return
        self._ordinary.update_cache(cache, committed.version)
        for task_id, known in self.tasks.items():
            if known.after is None:
                cache.discard((task_id,))
            elif known.before is not known.after:
                cache.put(committed.version, known.after, known.state_at)


async def read_limits(transaction: Transaction, cache: DocumentCache | None = None) -> OwnerLimits:
    """Return the limits of owners, from the cache if it has them: the commit checks their version."""
    key = transaction.keys.limits
    if cache is not None and cache.limits is not None and not transaction.is_retry:
        version, limits = cache.limits
        transaction.guard(key, version)
        return limits
    limits = decode_limits(await transaction.read_one(key))
    if cache is not None:
        cache.limits = transaction.version_of(key), limits
    return limits
