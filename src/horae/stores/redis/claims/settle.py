"""Updates of live runs by their nodes: start, settle, release, and recovery of the runs of a dead node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ....lifecycle.batch import SettlementDecision
from ....lifecycle.lanes.idle import declare_idle
from ....model.change import NOTHING, Change, Facts, RunDecision, SettleDecision, SuccessDecision
from ....model.lanes.idle import Waiter, YieldReason
from ....model.outcome import Settlement
from ....model.run import Run, RunState
from ....ports.store import LinkObserver
from ...chains import ignore_links
from ...claim_rules import check_recovery
from ..layout.document_cache import DocumentCache
from ..transactions.runner import RedisTransactions
from ..transactions.transaction import Committed, Transaction
from ..transactions.unit_of_work import UnitOfWork, read_limits
from .lane_queue import read_waiters

RunUpdate: TypeAlias = tuple[str, int | None, Any]
"""Run id, fencing token that must match (None: any), and the argument for the decision."""
RunUpdateDecision: TypeAlias = Callable[[Facts, Run, Any], Change]


class RunUpdater:
    """Applies decisions to live runs; a run with another token, or that is no longer live, is reported as stale."""

    def __init__(self, database: RedisTransactions, cache: DocumentCache) -> None:
        self._database = database
        self._cache = cache
        self.on_linked: LinkObserver = ignore_links

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        success = decide.success if isinstance(decide, SettlementDecision) else None
        return await self._apply([(each.run_id, each.token, each) for each in batch], decide, success)

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._apply([(*claim, None) for claim in claims], lambda facts, run, _: decide(facts, run))

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        started: set[str] = set()

        def begin(_: Facts, run: Run, __: None) -> Change:
            if run.state is not RunState.CLAIMED or run.cancel is not None:
                return NOTHING
            started.add(run.id)
            return Change(updated_runs=(run._replace(state=RunState.RUNNING, started=now),))

        async def work(transaction: Transaction) -> UnitOfWork:
            # Forget the runs of an attempt that was not committed.
            started.clear()
            _, unit = await self._apply_in(transaction, [(*claim, None) for claim in claims], begin)
            return unit

        unit, committed = await self._database.transact(work)
        self._follow_commit(unit, committed)
        return frozenset(started)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        keys = self._database.keys

        async def work(transaction: Transaction) -> tuple[int, UnitOfWork] | None:
            state = ("HGET", keys.node_state(node), "renewals")
            found, run_ids = await self._database.client.call_all([state, ("ZRANGE", keys.node_runs(node), 0, -1)])
            if await transaction.read_one(keys.node(node)) is None or found != str(renewals):
                return None
            # A node that only seemed dead can neither renew nor claim meanwhile.
            transaction.require(str(renewals), *state)
            transaction.require(str(len(run_ids)), "ZCARD", keys.node_runs(node))
            updates = [(run_id, None, None) for run_id in run_ids[:limit]]
            _, unit = await self._apply_in(transaction, updates, check_recovery(decide, node), caches=False)
            if len(run_ids) <= limit:
                transaction.put(keys.node(node), None)
                transaction.call("DEL", keys.node_state(node))
                transaction.call("ZREM", keys.nodes, node)
            return min(len(run_ids), limit), unit

        result, committed = await self._database.transact(work)
        if result is None:
            return None
        recovered, unit = result
        self._follow_commit(unit, committed)
        return recovered

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        async def work(transaction: Transaction) -> tuple[YieldReason | None, UnitOfWork]:
            unit, tasks = await self._load(transaction, [run_id], caches=False)
            known = unit.tasks.get(tasks.get(run_id, ""))
            run = None if known is None else known.find_run(run_id)
            if known is None or run is None or run.token != token:
                return None, unit
            lanes = unit.lanes
            if since is None:
                lanes.drop_idle_run(run.lanes, run.id)
            elif not lanes.is_idle(run):
                waiting = {
                    lane: [Waiter(*each) for each in await read_waiters(transaction, lane)]
                    for lane in run.lanes
                    if lanes.has_waiting(lane)
                }
                facts = unit.require_facts(run.task_id)
                await unit.apply(run.task_id, declare_idle(facts, run, since, waiting))
            await unit.finish()
            return lanes.yield_reason(run), unit

        (reason, unit), committed = await self._database.transact(work)
        self._follow_commit(unit, committed)
        return reason

    def _follow_commit(self, unit: UnitOfWork, committed: Committed) -> None:
        unit.update_cache(self._cache, committed)
        if unit.linked_changes:
            self.on_linked(unit.linked_changes)

    async def _apply(
        self, updates: Sequence[RunUpdate], decide: RunUpdateDecision, success: SuccessDecision | None = None
    ) -> frozenset[str]:
        (stale, unit), committed = await self._database.transact(
            lambda each: self._apply_in(each, updates, decide, success)
        )
        self._follow_commit(unit, committed)
        return stale

    async def _apply_in(
        self,
        transaction: Transaction,
        updates: Sequence[RunUpdate],
        decide: RunUpdateDecision,
        success: SuccessDecision | None = None,
        *,
        caches: bool = True,
    ) -> tuple[frozenset[str], UnitOfWork]:
        stale: set[str] = set()
        unit, tasks = await self._load(transaction, [run_id for run_id, _, _ in updates], caches=caches)
        for run_id, token, argument in updates:
            task_id = tasks.get(run_id)
            run = None if task_id is None else unit.tasks[task_id].find_run(run_id)
            if task_id is None or run is None or token not in (None, run.token):
                stale.add(run_id)
            elif success is None or not _succeed(unit, run, success, argument):
                await unit.apply(task_id, decide(unit.require_facts(task_id), run, argument))
        await unit.finish()
        return frozenset(stale), unit

    async def _load(
        self, transaction: Transaction, run_ids: Sequence[str], *, caches: bool
    ) -> tuple[UnitOfWork, dict[str, str]]:
        """Load the tasks of live runs; return them by run. Tasks in the cache are not read in the first attempt."""
        cache = self._cache if caches and not transaction.is_retry else None
        tasks = {} if cache is None else cache.tasks_of_runs(run_ids)
        unknown = [run_id for run_id in run_ids if run_id not in tasks]
        if unknown:
            found = await transaction.client.call("HMGET", transaction.keys.live, *unknown)
            tasks.update((run_id, task) for run_id, task in zip(unknown, found, strict=True) if task is not None)
        limits = await read_limits(transaction, self._cache)
        unit = UnitOfWork(transaction, limits)
        await unit.load(tasks.values(), cache)
        await unit.follow_plans()
        return unit, tasks


def _succeed(unit: UnitOfWork, run: Run, decide: SuccessDecision, report: Settlement) -> bool:
    """Settle an ordinary success; return whether it is one."""
    document = unit.tasks[run.task_id].after
    if document is None or run.node is None:
        return False
    _, task, status, entries, live = document
    success = decide(task, status, entries, live, run, report)
    return success is not None and unit.add_success(run, success)
