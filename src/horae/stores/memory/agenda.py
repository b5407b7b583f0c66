"""Agenda port of the in-memory store: claim, start, settle, release, recover, and node leases."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import takewhile, zip_longest

from ...errors import StoreError
from ...lifecycle.lanes.idle import declare_idle
from ...model.change import Facts, FireDecision, RunDecision, SettleDecision
from ...model.entry import Entry, EntryState
from ...model.lanes.idle import YIELD_REQUEST_KIND, Waiter, YieldReason, node_prefix, yield_request_of
from ...model.limits import CLAIM_SLICE
from ...model.outcome import Settlement
from ...model.run import Run, RunState
from ...ports.store import Admission, CancelRequest, Claim, Claimed, LeaseRenewal, LinkObserver, Node, RouteQueue
from .data import Data
from .entries import key_of


class MemoryAgenda:
    _data: Data

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        data = self._data
        with data.lock:
            if node not in data.nodes:
                return Claim()
            claimed: list[Claimed] = []
            if room > 0:
                data.wake_lanes(now)
            with data.claim_transaction(now):
                selected = self._select_slice(now) if room > 0 else []
                decided = self._fire_entries(selected, room, decide, claimed)
            if decided:
                data.last_owner = selected[decided - 1].owner
            head = data.next_due()
            return Claim(tuple(claimed), decided, more=head is not None and head <= now, next_due=head)

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        data = self._data
        with data.lock:
            if node not in data.nodes or not queues:
                return Claim()
            claimed: list[Claimed] = []
            with data.claim_transaction(now):
                selected = self._select_queued(now, queues, min(CLAIM_SLICE, max(1, room)))
                decided = self._fire_entries(selected, room, decide, claimed)
            heads = data.entries.queue_heads()
            head = min((heads[name] for name in queues if name in heads), default=None)
            return Claim(tuple(claimed), decided, more=head is not None and head <= now, next_due=head)

    def _select_queued(self, now: datetime, queues: Collection[str], most: int) -> list[Entry]:
        """Return due entries of these queues, one per task: owners in turn, each with its own by priority, then due."""
        entries = self._data.entries
        found = sorted(
            entries.due_in_queues(queues, now, most), key=lambda entry: (entries.priority_rank(entry), entry.slot)
        )
        by_owner: dict[str, list[Entry]] = {}
        for entry in found:
            by_owner.setdefault(entry.owner, []).append(entry)
        first_of_task: dict[str, Entry] = {}
        for turn in zip_longest(*by_owner.values()):
            for entry in turn:
                if entry is not None:
                    first_of_task.setdefault(entry.task_id, entry)
        return list(first_of_task.values())

    def _select_slice(self, now: datetime) -> list[Entry]:
        """Return at most `CLAIM_SLICE` due entries, one per task; with a backlog, owners take turns."""
        entries = self._data.entries
        selected = entries.due(now, CLAIM_SLICE + 1)
        if entries.has_backlog or len(selected) > CLAIM_SLICE:
            entries.move_due_to_ready(now)
            selected = [
                each
                for each in entries.rotate_owners(self._data.last_owner, CLAIM_SLICE)
                if self._is_due_or_requeue(each, now)
            ]
        else:
            selected.sort(key=lambda entry: (entries.priority_rank(entry), entry.slot))
        first_of_task: dict[str, Entry] = {}
        for entry in selected:
            first_of_task.setdefault(entry.task_id, entry)
        return list(first_of_task.values())

    def _is_due_or_requeue(self, entry: Entry, now: datetime) -> bool:
        """Return whether a ready entry is due; one that a node with a faster clock made ready becomes timed again."""
        if entry.due <= now:
            return True
        self._data.entries.write(key_of(entry), entry._replace(state=EntryState.TIMED))
        return False

    def _fire_entries(self, selected: list[Entry], room: int, decide: FireDecision, claimed: list[Claimed]) -> int:
        """Decide the entries in order until `room` runs are claimed, and return how many were decided."""
        data = self._data
        data.token += bool(selected)
        for decided, entry in enumerate(selected):
            if len(claimed) >= room:
                return decided
            facts = self._load_facts(entry.task_id)
            change = decide(facts, entry, data.token)
            if existing := data.find_existing_runs(change):
                change = decide(facts._replace(existing_run_ids=existing), entry, data.token)
            change = data.deduplicate_runs(change)
            if not change.deleted and entry.slot not in {*change.dropped, *(put.slot for put in change.put)}:
                raise StoreError(f"The entry {entry.slot} of {entry.task_id} was decided, but would come due for ever.")
            data.apply(entry.task_id, change)
            claimed.extend(Claimed(data.tasks[entry.task_id], run) for run in change.new_runs if run.live)
        return len(selected)

    def _load_facts(self, task_id: str) -> Facts:
        facts = self._data.facts(task_id)
        if facts is None:
            raise StoreError(f"There is no task {task_id}, but something of it is left.")
        return facts

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        started = set()
        with self._data.transaction():
            for run_id, token in claims:
                run = self._live_run(run_id, token)
                if run is not None and run.state is RunState.CLAIMED and run.cancel is None:
                    self._data.runs.write(run_id, run._replace(state=RunState.RUNNING, started=now))
                    self._data.drop_idle_run(run)
                    started.add(run_id)
        return frozenset(started)

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        stale = set()
        with self._data.transaction():
            for settlement in batch:
                run = self._live_run(settlement.run_id, settlement.token)
                if run is None:
                    stale.add(settlement.run_id)
                else:
                    self._data.apply(run.task_id, decide(self._load_facts(run.task_id), run, settlement))
        return frozenset(stale)

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        stale = set()
        with self._data.transaction():
            for run_id, token in claims:
                run = self._live_run(run_id, token)
                if run is None:
                    stale.add(run_id)
                else:
                    self._data.apply(run.task_id, decide(self._load_facts(run.task_id), run))
        return frozenset(stale)

    def _live_run(self, run_id: str, token: int) -> Run | None:
        run = self._data.runs.get(run_id)
        return run if run is not None and run.live and run.token == token else None

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        data = self._data
        with data.transaction():
            run = self._live_run(run_id, token)
            if run is None:
                return None
            if since is None:
                data.drop_idle_run(run)
            elif not data.is_idle(run):
                waiting = {
                    lane: [Waiter(each.owner, each.priority) for each in data.entries.parked(lane)]
                    for lane in run.lanes
                }
                data.apply(run.task_id, declare_idle(self._load_facts(run.task_id), run, since, waiting))
            return data.yield_reason(run)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        data = self._data
        with data.transaction():
            dead_node = data.nodes.get(node)
            if dead_node is None or dead_node.renewals != renewals:
                return None
            live_runs = data.runs.live_on_node(node)
            for run in live_runs[:limit]:
                data.apply(run.task_id, decide(self._load_facts(run.task_id), run))
                after = data.runs.get(run.id)
                if after is not None and after.live and after.node == node:
                    raise StoreError(f"The run {run.id} was to be recovered, but is still held by {node}.")
            if len(live_runs) <= limit:
                data.nodes.write(node, None)
            return min(len(live_runs), limit)

    async def admit(self, routes: Collection[str]) -> Admission:
        entries = self._data.entries
        with self._data.transaction():
            parked = [entry for route in sorted(routes) for entry in entries.parked(route)]
            for entry in parked:
                entries.write(key_of(entry), entry._replace(state=EntryState.TIMED, lane=None))
            queues = tuple(RouteQueue(*head) for head in entries.queue_heads().items())
            return Admission(len(parked), queues)

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        with self._data.lock:
            return tuple((run.id, run.token) for run in self._data.runs.live_on_node(node))

    async def join(self, node: Node) -> None:
        with self._data.transaction():
            self._data.nodes.write(node.id, node)

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        data = self._data
        with data.transaction():
            row = data.nodes.get(node)
            if row is None:
                return LeaseRenewal(held=False)
            after = row._replace(renewals=row.renewals + 1, renewed=now, load=load, offset=offset)
            data.nodes.write(node, after)
            orders = tuple(
                CancelRequest(run.id, run.cancel)
                for run in data.runs.cancel_requested_on(node)
                if run.cancel is not None
            )
            others = tuple(sorted(other for other in data.nodes if other.id != node))
            head = data.next_due()
            prefix = node_prefix(node)
            yields = tuple(
                yield_request_of(json.loads(record.body))
                for record in takewhile(
                    lambda each: each.key.startswith(prefix),
                    data.records.of_kind(YIELD_REQUEST_KIND, prefix, newest=False),
                )
            )
            return LeaseRenewal(
                held=True,
                cancel_requests=orders,
                nodes=others,
                next_due=head,
                draining=row.draining,
                yield_requests=yields,
            )

    async def leave(self, node: str) -> None:
        with self._data.transaction():
            # A node with live runs keeps its row: recovery finds those runs by it.
            if not self._data.runs.live_on_node(node):
                self._data.nodes.write(node, None)

    def observe_links(self, observer: LinkObserver) -> None:
        self._data.on_linked = observer

    async def next_due(self) -> datetime | None:
        with self._data.lock:
            return self._data.next_due()
