"""Updates of live runs by their nodes: start, settle, release, and recovery of the runs of a dead node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, TypeAlias

from ...lifecycle.batch import SettlementDecision
from ...lifecycle.lanes.idle import declare_idle
from ...model.change import NOTHING, Change, Facts, RunDecision, SettleDecision, SuccessDecision
from ...model.lanes.idle import Waiter, YieldReason
from ...model.outcome import Settlement
from ...model.run import Run, RunState
from ...ports.store import LinkObserver
from ..chains import ignore_links
from ..claim_rules import check_recovery
from ..codec.rows import is_named_by_instant
from ..task_cache import TaskCache
from .connection import Statements, Transactions
from .load_facts import LoadedFacts
from .unit_of_work import UnitOfWork

RunUpdate: TypeAlias = tuple[str, int | None, Any]
"""Run id, fencing token that must match (None: any), and the argument for the decision."""
RunUpdateDecision: TypeAlias = Callable[[Facts, Run, Any], Change]


class RunUpdater:
    """Applies decisions to live runs; a run with another token, or that is no longer live, is reported as stale."""

    def __init__(self, database: Transactions, cache: TaskCache) -> None:
        self._database = database
        self._task_cache = cache
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

        async def work(connection: Statements) -> UnitOfWork:
            # Forget the runs of an attempt that was rolled back and retried.
            started.clear()
            _, unit = await self._apply_in(connection, [(*claim, None) for claim in claims], begin)
            return unit

        unit = await self._database.transact(work)
        self._follow_commit(unit)
        return frozenset(started)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        async def work(connection: Statements) -> tuple[int, UnitOfWork] | None:
            # The node's row stays locked until the commit: a node that only seemed dead can claim nothing meanwhile.
            if await connection.query("lock_node", node) != [(renewals,)]:
                return None
            run_ids = [run_id for run_id, _ in await connection.query("live_runs_of_node", node)]
            updates = [(run_id, None, None) for run_id in run_ids[:limit]]
            _, unit = await self._apply_in(connection, updates, check_recovery(decide, node))
            if len(run_ids) <= limit:
                await connection.query("drop_node", node)
            return min(len(run_ids), limit), unit

        result = await self._database.transact(work)
        if result is None:
            return None
        recovered, unit = result
        self._follow_commit(unit)
        return recovered

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        async def work(connection: Statements) -> tuple[YieldReason | None, UnitOfWork]:
            tasks = await self._tasks_of(connection, [run_id])
            loaded, restricted = await self._load(connection, tasks)
            await loaded.read_lane_state(restricted=restricted)
            unit = UnitOfWork(connection, loaded)
            known = loaded.tasks.get(tasks.get(run_id, 0))
            run = None if known is None else known.find_run(run_id)
            if known is None or run is None or run.token != token:
                return None, unit
            lane_state = loaded.lane_state
            if since is None:
                lane_state.drop_idle_run(run.lanes, run.id)
            elif not lane_state.is_idle(run):
                facts = loaded.build_facts(known, loaded.entries.get(known.number, ()))
                waiting = {
                    lane: [Waiter(*row) for row in await connection.query("waiting_priorities", lane)]
                    for lane in run.lanes
                    if lane_state.has_waiting(lane)
                }
                unit.add_change(known, facts.entries, declare_idle(facts, run, since, waiting))
            await unit.flush()
            return lane_state.yield_reason(run), unit

        reason, unit = await self._database.transact(work)
        self._follow_commit(unit)
        return reason

    def _follow_commit(self, unit: UnitOfWork) -> None:
        unit.update_cache(self._task_cache)
        if unit.linked_changes:
            self.on_linked(unit.linked_changes)

    async def _apply(
        self, updates: Sequence[RunUpdate], decide: RunUpdateDecision, success: SuccessDecision | None = None
    ) -> frozenset[str]:
        stale, unit = await self._database.transact(
            lambda connection: self._apply_in(connection, updates, decide, success)
        )
        self._follow_commit(unit)
        return stale

    async def _apply_in(
        self,
        connection: Statements,
        updates: Sequence[RunUpdate],
        decide: RunUpdateDecision,
        decide_success: SuccessDecision | None = None,
    ) -> tuple[frozenset[str], UnitOfWork]:
        """Return the ids of stale runs and the unit of work. A retried transaction builds a new one; only the last was
        written."""
        stale: set[str] = set()
        tasks = await self._tasks_of(connection, [run_id for run_id, _, _ in updates])
        loaded, restricted = await self._load(connection, tasks)
        unit = UnitOfWork(connection, loaded)
        are_lanes_read = False
        known_tasks, entries_of = loaded.tasks, loaded.entries
        for run_id, token, argument in updates:
            known = known_tasks.get(tasks.get(run_id, 0))
            run = None if known is None else known.find_run(run_id)
            if known is None or run is None or token not in (None, run.token):
                stale.add(run_id)
                continue
            number, _, task, status, live = known
            entries = entries_of.get(number, ())
            if decide_success is not None:
                success = decide_success(task, status, entries, live, run, argument)
                if success is not None and is_named_by_instant(run):
                    unit.add_success(known, run, success)
                    continue
            if not are_lanes_read:
                # An ordinary success takes and frees no slot: where there are no others, no lane is read.
                are_lanes_read = True
                await loaded.read_lane_state(restricted=restricted)
                entries = loaded.entries.get(known.number, ())
            change = decide(loaded.build_facts(known, entries), run, argument)
            if change.new_runs:
                change = await unit.deduplicate_runs(known.number, change)
            unit.add_change(known, entries, change)
            if change.put or change.dropped:
                loaded.update_entries(known.number, change, entries)
        await unit.flush()
        return frozenset(stale), unit

    async def _tasks_of(self, connection: Statements, run_ids: Sequence[str]) -> dict[str, int]:
        """Map these run ids to task numbers; runs that are not live are left out."""
        task_numbers = self._task_cache.task_numbers_of_runs(run_ids)
        if len(task_numbers) < len(run_ids):
            unknown = [run_id for run_id in run_ids if run_id not in task_numbers]
            task_numbers.update(await connection.query("tasks_of_runs", unknown))
        return task_numbers

    async def _successors_of(self, connection: Statements, numbers: set[int]) -> set[int]:
        """Return the tasks that run after these, as far as they are known: locked together, in the order of numbers, two
        settlements of one chain do not deadlock."""
        ids = self._task_cache.successors_of(numbers) if connection.dialect.has_concurrent_writers else []
        return {number for _, number in await connection.query("numbers_by_id", ids)} if ids else set()

    async def _load(self, connection: Statements, tasks: dict[str, int]) -> tuple[LoadedFacts, AbstractSet[str] | None]:
        """Lock and load the tasks, without their lanes; also return the restricted owners, None if they are not known."""
        numbers = set(tasks.values())
        locked = sorted(numbers | await self._successors_of(connection, numbers))
        rows = await connection.query("lock_tasks", locked) if locked else []
        versions = {number: version for number, version, _ in rows if number in numbers}
        loaded = LoadedFacts(connection, self._task_cache, versions)
        are_all_unrestricted = all(is_unrestricted for _, _, is_unrestricted in rows)
        await loaded.read_tasks()
        await loaded.read_entries(list(loaded.tasks))
        return loaded, frozenset() if are_all_unrestricted else None
