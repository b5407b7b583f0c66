"""Agents and their limits: each is a quota that an admin sets for one agent, or for all agents of an owner."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from ...model.accounts.account import (
    AGENT_CHARACTERS,
    AGENT_KIND,
    ALL_AGENTS,
    OWNER_KIND,
    Agent,
    Limit,
    agent_key,
    agent_limits,
    agent_quotas,
    agent_record,
    is_agent_name,
    is_owner_name,
)
from ...model.accounts.principal import NO_QUOTAS, Principal, Quotas, Scope
from ...model.lane import agent_in, agent_lane
from ...model.record import Writing
from ...model.refusals import refuse as refuse_task
from ..runs.lanes import MOST_IN_LANE
from ..tasks.task_quota import SEATS, guest_key
from .audit import Audit
from .known_agents import SHOW, check_agent
from .owners import Accounts, Keeping, nothing_to_do, read_limits
from .record_conflicts import unless_changed
from .refusals import refuse
from .rights import refuse_agent
from .sweep_record import SWEEP_KIND, sweep_writing

_TRIES: Final = 100


class Agents:
    def __init__(
        self,
        store: Keeping,
        accounts: Accounts,
        audit: Audit,
        told: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._told = told
        self.on_change: Callable[[], None] = lambda: None
        """Called after limits were changed: what somebody remembers of them is out of date."""
        self.on_quotas: Callable[[str], Awaitable[object]] = nothing_to_do
        """Called with the name of the owner then: lowered quotas count at once."""

    async def get(self, who: Principal, agent: str, owner: str | None = None) -> Agent:
        """One agent as it stands; under `*`, what was chosen for all agents of the owner."""
        refuse_agent(who, "agents")
        who.must(Scope.READ)
        whose = self._whose(who, agent, owner)
        if agent != ALL_AGENTS:
            await check_agent(self._store, who, whose, agent, SHOW)
        return await self._read(whose, agent)

    async def is_stopped(self, who: Principal) -> bool:
        """Whether the agent that is asking was stopped by its owner; never true of a person."""
        who.must(Scope.READ)
        return who.agent is not None and (await self._read(who.owner, who.agent)).stopped

    async def put(self, who: Principal, agent: str, quotas: Mapping[str, Any], owner: str | None = None) -> Agent:
        """Of the limits those that are named change: a number, a duration, None for no limit, or `usual`."""
        refuse_agent(who, "agents")
        who.must(Scope.ADMIN)
        whose = self._whose(who, agent, owner)
        for _ in range(_TRIES):
            known = await self._store.get_record(AGENT_KIND, agent_key(whose, agent))
            before = agent_limits(known)
            after = read_limits(dict(before), quotas)
            if after == before:
                break
            row = self._audit.row(who, "agent.put", agent, {"fields": sorted(quotas)}, owner=whose)
            version = None if known is None else known.version
            sweep = sweep_writing(whose, tuple(quotas), await self._store.get_record(SWEEP_KIND, whose))
            if await self._store.write_records((Writing(agent_record(whose, agent, after), version), *row, *sweep)):
                self.on_change()
                await self._set_lanes(whose, agent)
                await self.on_quotas(whose)
                self._told(None)
                break
        else:
            raise refuse_task("record_changed", kind=AGENT_KIND, key=agent_key(whose, agent))
        return await self._read(whose, agent)

    async def quotas(self, owner: str, agent: str, limits: Quotas | None = None) -> Quotas:
        """Those that count for an agent now. `limits` are its owner's, where they are known already."""
        allowed = await self._owner_quotas(owner) if limits is None else limits
        return agent_quotas(allowed, await self._chosen(owner, agent))

    async def _chosen(self, owner: str, agent: str) -> tuple[tuple[str, Limit], ...]:
        """What was chosen for the agent comes before what was chosen for all agents of its owner."""
        found: dict[str, Limit] = {}
        for name in dict.fromkeys((ALL_AGENTS, agent)):
            found.update(agent_limits(await self._store.get_record(AGENT_KIND, agent_key(owner, name))))
        return tuple(found.items())

    async def _owner_quotas(self, owner: str) -> Quotas:
        record = await self._store.get_record(OWNER_KIND, owner) if is_owner_name(owner) else None
        return NO_QUOTAS if record is None else self._accounts.read(record).quotas

    async def _read(self, owner: str, agent: str) -> Agent:
        own = agent_limits(await self._store.get_record(AGENT_KIND, agent_key(owner, agent)))
        seat = await self._store.get_record(SEATS, guest_key(owner, agent))
        body = {} if seat is None else json.loads(seat.body)
        quotas = await self.quotas(owner, agent)
        return Agent(agent, owner, quotas, own, bool(body.get("stopped")), bool(body.get("revoked")))

    async def _set_lanes(self, owner: str, agent: str) -> None:
        """A new limit of concurrent runs counts at once, also for agents that have their lane already."""
        if agent == ALL_AGENTS:
            lanes = (each.name for each in await self._store.lanes())
            names = [name for lane in lanes if (name := agent_in(owner, lane)) is not None]
        else:
            names = [agent]
        for name in names:
            runs = (await self.quotas(owner, name)).concurrent_runs
            await unless_changed(self._store.set_lane(agent_lane(owner, name), MOST_IN_LANE if runs is None else runs))

    def _whose(self, who: Principal, agent: str, owner: str | None) -> str:
        whose = who.owner if owner is None else owner
        if whose != who.owner and who.scope is not None:
            raise refuse("no_such_owner", name=whose)
        if agent != ALL_AGENTS and not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        return whose
