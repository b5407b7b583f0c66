"""Enforcement of lowered quotas: tasks beyond a quota are paused, and resumed when it allows them again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from ...clock import Clock
from ...errors import Refusal
from ...lifecycle.control import control
from ...model.accounts.account import agent_of
from ...model.accounts.principal import NO_QUOTAS, Principal, Quotas
from ...model.change import Change, Facts
from ...model.page import MAX_PAGE_SIZE
from ...model.record import RecordWrite
from ...model.task import OPEN_STATES, PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ..tasks.quotas import check_payload, check_schedule
from .agents import Agents
from .owners import SWEEP_KIND, Accounts


class QuotaSweep:
    """`on_write` is called after a sweep, because resumed tasks may be due."""

    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        accounts: Accounts,
        agents: Agents,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accounts = accounts
        self._agents = agents
        self._on_write = on_write

    async def sweep(self, owner: str) -> int:
        """Do the pending sweep of this owner; return how many tasks were paused or resumed."""
        record = await self._store.get_record(SWEEP_KIND, owner)
        if record is None:
            return 0
        changed = await self._sweep_tasks(owner, frozenset(json.loads(record.body)["limits"]))
        # A quota that was changed meanwhile has written a newer record, which stays for the next sweep.
        await self._store.write_records((RecordWrite(record, record.version, dropped=True),))
        self._on_write(None)
        return changed

    async def sweep_all(self) -> int:
        """Do the pending sweeps that other processes left; return how many tasks were paused or resumed."""
        page = await self._store.records(SWEEP_KIND, None, None, MAX_PAGE_SIZE)
        return sum([await self.sweep(record.key) for record in page.items])

    async def _sweep_tasks(self, owner: str, limits: frozenset[str]) -> int:
        changed, active = 0, _ActiveCount()
        quotas: dict[str | None, Quotas] = {}
        async for facts in self._tasks(owner):
            agent = agent_of(facts.task)
            if agent not in quotas:
                quotas[agent] = await self._quotas(owner, agent)
            if None not in quotas:
                quotas[None] = await self._quotas(owner, None)
            if facts.status.state is not TaskState.ACTIVE and not _is_paused_by_quota(facts):
                active.count(agent, facts)
                continue
            exceeded = self._exceeded_limit(facts, quotas[agent], limits) or active.exceeded_limit(
                agent, quotas, limits, facts
            )
            changed += await self._pause_or_resume(facts, exceeded)
            if exceeded is None:
                active.count(agent, facts)
        return changed

    async def _pause_or_resume(self, facts: Facts, exceeded: str | None) -> bool:
        now = self._clock.now()

        def decide(current: Facts) -> Change:
            if exceeded is not None and current.status.state is TaskState.ACTIVE:
                return control.pause(current, now, cause=PauseCause.QUOTA, note=f"quota {exceeded}")
            if exceeded is None and _is_paused_by_quota(current):
                return control.resume(current, now)
            return Change()

        if (exceeded is None) is (facts.status.state is TaskState.ACTIVE):
            return False
        try:
            return await self._store.change(facts.task.id, None, decide) is not None
        except Refusal:
            # The task ended meanwhile.
            return False

    def _exceeded_limit(self, facts: Facts, quotas: Quotas, limits: frozenset[str]) -> str | None:
        """Return the name of a limit that the task itself exceeds; None if it keeps all of them."""
        task, now = facts.task, self._clock.now()
        for name, limit in (
            ("shortest_interval", Quotas(shortest_interval=quotas.shortest_interval)),
            ("longest_life", Quotas(longest_life=quotas.longest_life)),
        ):
            # A task that was paused for a limit is checked against all limits, whichever one has changed now.
            if name not in limits and not _is_paused_by_quota(facts):
                continue
            try:
                check_schedule(Principal(task.owner, quotas=limit), task.schedule, now, facts.status.counted)
            except Refusal:
                return name
        if "payload_bytes" in limits or _is_paused_by_quota(facts):
            try:
                check_payload(quotas, task.payload)
            except Refusal:
                return "payload_bytes"
        return None

    async def _quotas(self, owner: str, agent: str | None) -> Quotas:
        if agent is not None:
            return await self._agents.quotas(owner, agent)
        account = await self._accounts.find(owner)
        return NO_QUOTAS if account is None else account.quotas

    async def _tasks(self, owner: str) -> AsyncIterator[Facts]:
        """Yield tasks oldest first, so that older tasks stay active."""
        after: str | None = None
        while True:
            page = await self._store.tasks(TaskFilter(owner, OPEN_STATES), after, MAX_PAGE_SIZE)
            for facts in page.items:
                yield facts
            after = page.after
            if after is None:
                return


class _ActiveCount:
    """Number of tasks that count so far: active tasks of the owner, and all tasks of an agent."""

    def __init__(self) -> None:
        self._counts: dict[str | None, int] = {}

    def count(self, agent: str | None, facts: Facts) -> None:
        is_active = facts.status.state is TaskState.ACTIVE or _is_paused_by_quota(facts)
        if is_active:
            self._counts[None] = self._counts.get(None, 0) + 1
        if agent is not None:
            self._counts[agent] = self._counts.get(agent, 0) + 1

    def exceeded_limit(
        self, agent: str | None, quotas: dict[str | None, Quotas], limits: frozenset[str], facts: Facts
    ) -> str | None:
        if "active_tasks" not in limits and not _is_paused_by_quota(facts):
            return None
        for name in dict.fromkeys((None, agent)):
            most = quotas[name].active_tasks
            if most is not None and self._counts.get(name, 0) >= most:
                return "active_tasks"
        return None


def _is_paused_by_quota(facts: Facts) -> bool:
    pause = facts.status.pause
    return pause is not None and pause.cause is PauseCause.QUOTA
