"""Quotas of agents: an admin sets limits for one agent, or for all agents of an owner."""

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
from ...model.lane import agent_lane, agent_of_lane
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.full_store import FullStore
from ..runs.lanes import MAX_LANE_LIMIT
from ..tasks.task_quota import QUOTA_KIND, agent_record_key
from .audit import Audit
from .known_agents import SHOW_COMMAND, check_agent
from .owners import SWEEP_KIND, Accounts, ignore_owner, read_limits, sweep_writing
from .record_conflicts import write_unless_changed
from .refusals import refuse
from .rights import refuse_agent

_TRIES: Final = 100


class Agents:
    def __init__(
        self,
        store: FullStore,
        accounts: Accounts,
        audit: Audit,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._on_write = on_write
        self.on_change: Callable[[], None] = lambda: None
        """Called after limits were changed: cached quotas are out of date."""
        self.on_quotas: Callable[[str], Awaitable[object]] = ignore_owner
        """Called with the owner's name after limits were changed, so that lowered quotas count at once."""

    async def get(self, principal: Principal, agent: str, owner: str | None = None) -> Agent:
        """Return one agent with its quotas and state; under `*`, the limits for all agents of the owner."""
        refuse_agent(principal, "agents")
        principal.require_scope(Scope.READ)
        account = self._check_agent_owner(principal, agent, owner)
        if agent != ALL_AGENTS:
            await check_agent(self._store, principal, account, agent, SHOW_COMMAND)
        return await self._load_agent(account, agent)

    async def is_stopped(self, who: Principal) -> bool:
        """Return whether the calling agent was stopped by its owner; False for a person."""
        who.require_scope(Scope.READ)
        return who.agent is not None and (await self._load_agent(who.owner, who.agent)).stopped

    async def put(self, principal: Principal, agent: str, quotas: Mapping[str, Any], owner: str | None = None) -> Agent:
        """Change the named limits: a number, a duration, None for no limit, or `usual` for the default."""
        refuse_agent(principal, "agents")
        principal.require_scope(Scope.ADMIN)
        account = self._check_agent_owner(principal, agent, owner)
        for _ in range(_TRIES):
            known = await self._store.get_record(AGENT_KIND, agent_key(account, agent))
            before = agent_limits(known)
            after = read_limits(dict(before), quotas)
            if after == before:
                break
            row = self._audit.row(principal, "agent.put", agent, {"fields": sorted(quotas)}, owner=account)
            version = None if known is None else known.version
            sweep = sweep_writing(account, tuple(quotas), await self._store.get_record(SWEEP_KIND, account))
            if await self._store.write_records(
                (RecordWrite(agent_record(account, agent, after), version), *row, *sweep)
            ):
                self.on_change()
                await self._set_lanes(account, agent)
                await self.on_quotas(account)
                self._on_write(None)
                break
        else:
            raise refuse_task("record_changed", kind=AGENT_KIND, key=agent_key(account, agent))
        return await self._load_agent(account, agent)

    async def quotas(self, owner: str, agent: str, limits: Quotas | None = None) -> Quotas:
        """Return the quotas that count for an agent now. `limits` are its owner's, if the caller has them already."""
        owner_quotas = await self._owner_quotas(owner) if limits is None else limits
        return agent_quotas(owner_quotas, await self._load_limits(owner, agent))

    async def _load_limits(self, owner: str, agent: str) -> tuple[tuple[str, Limit], ...]:
        """Limits of the agent itself take precedence over those for all agents of its owner."""
        limits: dict[str, Limit] = {}
        for name in dict.fromkeys((ALL_AGENTS, agent)):
            limits.update(agent_limits(await self._store.get_record(AGENT_KIND, agent_key(owner, name))))
        return tuple(limits.items())

    async def _owner_quotas(self, owner: str) -> Quotas:
        record = await self._store.get_record(OWNER_KIND, owner) if is_owner_name(owner) else None
        return NO_QUOTAS if record is None else self._accounts.read(record).quotas

    async def _load_agent(self, owner: str, agent: str) -> Agent:
        own = agent_limits(await self._store.get_record(AGENT_KIND, agent_key(owner, agent)))
        quota_record = await self._store.get_record(QUOTA_KIND, agent_record_key(owner, agent))
        body = {} if quota_record is None else json.loads(quota_record.body)
        quotas = await self.quotas(owner, agent)
        return Agent(agent, owner, quotas, own, bool(body.get("stopped")), bool(body.get("revoked")))

    async def _set_lanes(self, owner: str, agent: str) -> None:
        """Apply a new limit of concurrent runs at once, also to agents that have their lane already."""
        if agent == ALL_AGENTS:
            lanes = (each.name for each in await self._store.lanes())
            names = [name for lane in lanes if (name := agent_of_lane(owner, lane)) is not None]
        else:
            names = [agent]
        for name in names:
            runs = (await self.quotas(owner, name)).concurrent_runs
            await write_unless_changed(
                self._store.set_lane(agent_lane(owner, name), MAX_LANE_LIMIT if runs is None else runs)
            )

    def _check_agent_owner(self, principal: Principal, agent: str, owner: str | None) -> str:
        """Return the owner whose agent is meant; refuses foreign owners and bad agent names."""
        account = principal.owner if owner is None else owner
        if account != principal.owner and principal.owner_filter is not None:
            raise refuse("no_such_owner", name=account)
        if agent != ALL_AGENTS and not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        return account
