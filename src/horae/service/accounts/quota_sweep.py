"""A lowered quota counts at once: tasks that are beyond it are paused, and resumed when it allows them again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from ...clock import Clock
from ...errors import Refusal
from ...lifecycle import control
from ...model.accounts.agent_label import agent_of
from ...model.accounts.principal import NO_QUOTAS, Principal, Quotas
from ...model.change import Change, Facts
from ...model.page import LARGEST_PAGE
from ...model.record import Writing
from ...model.task import GOING, PauseCause, TaskState
from ...ports.store import TaskFilter
from ..tasks.quotas import check_payload, check_schedule
from .agents import Agents
from .owners import Accounts, Keeping
from .sweep_record import SWEEP_KIND


class QuotaSweep:
    """`told` hears of what was resumed."""

    def __init__(
        self,
        store: Keeping,
        clock: Clock,
        accounts: Accounts,
        agents: Agents,
        told: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accounts = accounts
        self._agents = agents
        self._told = told

    async def sweep(self, owner: str) -> int:
        """Do what is to be done for this owner; how many tasks were paused or resumed."""
        record = await self._store.get_record(SWEEP_KIND, owner)
        if record is None:
            return 0
        changed = await self._swept(owner, frozenset(json.loads(record.body)["limits"]))
        # A quota that was changed meanwhile has written a newer record, which stays for the next sweep.
        await self._store.write_records((Writing(record, record.version, dropped=True),))
        self._told(None)
        return changed

    async def sweep_all(self) -> int:
        """What other processes left undone."""
        page = await self._store.records(SWEEP_KIND, None, None, LARGEST_PAGE)
        return sum([await self.sweep(record.key) for record in page.items])

    async def _swept(self, owner: str, limits: frozenset[str]) -> int:
        changed, active = 0, _Active()
        quotas: dict[str | None, Quotas] = {}
        async for facts in self._tasks(owner):
            agent = agent_of(facts.task)
            if agent not in quotas:
                quotas[agent] = await self._quotas(owner, agent)
            if None not in quotas:
                quotas[None] = await self._quotas(owner, None)
            if facts.standing.state is not TaskState.ACTIVE and not _is_by_quota(facts):
                active.count(agent, facts)
                continue
            beyond = self._beyond(facts, quotas[agent], limits) or active.beyond(agent, quotas, limits, facts)
            changed += await self._decided(facts, beyond)
            if beyond is None:
                active.count(agent, facts)
        return changed

    async def _decided(self, facts: Facts, beyond: str | None) -> bool:
        now = self._clock.now()

        def decide(found: Facts) -> Change:
            if beyond is not None and found.standing.state is TaskState.ACTIVE:
                return control.pause(found, now, cause=PauseCause.QUOTA, note=f"quota {beyond}")
            if beyond is None and _is_by_quota(found):
                return control.resume(found, now)
            return Change()

        if (beyond is None) is (facts.standing.state is TaskState.ACTIVE):
            return False
        try:
            return await self._store.change(facts.task.id, None, decide) is not None
        except Refusal:
            # It ended meanwhile.
            return False

    def _beyond(self, facts: Facts, quotas: Quotas, limits: frozenset[str]) -> str | None:
        """The name of a limit that the task itself does not keep; None if it keeps all of them."""
        task, now = facts.task, self._clock.now()
        for name, wanted in (
            ("shortest_interval", Quotas(shortest_interval=quotas.shortest_interval)),
            ("longest_life", Quotas(longest_life=quotas.longest_life)),
        ):
            # A task that was paused for a limit is looked at under that limit, whichever one has changed now.
            if name not in limits and not _is_by_quota(facts):
                continue
            try:
                check_schedule(Principal(task.owner, quotas=wanted), task.schedule, now, facts.standing.counted)
            except Refusal:
                return name
        if "payload_bytes" in limits or _is_by_quota(facts):
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
        """Oldest first: what was there longer keeps its place."""
        after: str | None = None
        while True:
            page = await self._store.tasks(TaskFilter(owner, GOING), after, LARGEST_PAGE)
            for facts in page.items:
                yield facts
            after = page.after
            if after is None:
                return


class _Active:
    """How many tasks take a place so far: all of the owner's that are active, and all that an agent has."""

    def __init__(self) -> None:
        self._taken: dict[str | None, int] = {}

    def count(self, agent: str | None, facts: Facts) -> None:
        is_active = facts.standing.state is TaskState.ACTIVE or _is_by_quota(facts)
        if is_active:
            self._taken[None] = self._taken.get(None, 0) + 1
        if agent is not None:
            self._taken[agent] = self._taken.get(agent, 0) + 1

    def beyond(
        self, agent: str | None, quotas: dict[str | None, Quotas], limits: frozenset[str], facts: Facts
    ) -> str | None:
        if "active_tasks" not in limits and not _is_by_quota(facts):
            return None
        for name in dict.fromkeys((None, agent)):
            most = quotas[name].active_tasks
            if most is not None and self._taken.get(name, 0) >= most:
                return "active_tasks"
        return None


def _is_by_quota(facts: Facts) -> bool:
    pause = facts.standing.pause
    return pause is not None and pause.cause is PauseCause.QUOTA
