"""Agents of an owner: lookup by name, and quotas that an admin sets for one agent, or for all agents of an owner."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, Protocol

from ...errors import Refusal
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
    limits_json,
)
from ...model.accounts.principal import AGENT_LABEL, NO_QUOTAS, Principal, Quotas, Scope
from ...model.lanes.lane import agent_lane, agent_of_lane
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.full_store import FullStore
from ...ports.records import Records, write_unless_changed
from ...ports.store import Book, TaskFilter
from ..query.argument_checks import check_page
from ..runs.lanes import MAX_LANE_LIMIT
from ..tasks.task_quota import QUOTA_KIND, agent_record_key
from .audit import Audit, changed_values
from .owners import SWEEP_KIND, Accounts, ignore_owner, read_limits, sweep_writing
from .refusals import refuse
from .rights import refuse_agent

SHOW_COMMAND: Final = "horae agent show {name}"
STOP_COMMAND: Final = "horae agent stop {name}"
RESTART_COMMAND: Final = "horae agent restart {name}"
_MAX_LISTED: Final = 5


class AgentStore(Book, Records, Protocol):
    """The store operations that a lookup needs."""


class AgentName(NamedTuple):
    owner: str
    agent: str


async def list_agents(store: Records, owner: str | None, after: str | None, limit: int) -> Page[AgentName]:
    """Return the names of agents that have a quota record, by owner and name; a cursor is a record key."""
    found: list[AgentName] = []
    while True:
        page = await store.records(QUOTA_KIND, owner, after, limit + 1)
        for record in page.items:
            owner_name, separator, agent = record.key.partition("/")
            # Owners have a record of this kind too.
            if not separator:
                continue
            if len(found) == limit:
                return Page(tuple(found), agent_record_key(*found[-1]))
            found.append(AgentName(owner_name, agent))
        after = page.after
        if after is None:
            return Page(tuple(found))


async def check_agent(store: AgentStore, principal: Principal, owner: str, agent: str, command: str) -> None:
    """Refuse an agent that the owner does not have. `command` is the one that the hint repeats with the nearest name.

    A token and every write of an agent leave its quota record; `horae agent set` leaves its settings, a local MCP
    server its lane, and an import may bring tasks alone.
    """
    for kind, key in ((QUOTA_KIND, agent_record_key(owner, agent)), (AGENT_KIND, agent_key(owner, agent))):
        if await store.get_record(kind, key) is not None:
            return
    if (await store.tasks(TaskFilter(owner, labels=((AGENT_LABEL, agent),)), limit=1)).items:
        return
    lane = agent_lane(owner, agent)
    if any(each.name == lane for each in await store.lanes()):
        return
    raise _build_refusal(await _load_names(store, principal.owner_filter), principal, AgentName(owner, agent), command)


async def _load_names(store: AgentStore, owner: str | None) -> list[AgentName]:
    """Return agents with a record, by owner and name; of each kind of record only the first page is read."""
    names: set[AgentName] = set()
    for kind in (QUOTA_KIND, AGENT_KIND):
        for record in (await store.records(kind, owner, limit=MAX_PAGE_SIZE)).items:
            owner_name, separator, agent = record.key.partition("/")
            if separator and agent != ALL_AGENTS:
                names.add(AgentName(owner_name, agent))
    return sorted(names)


def _build_refusal(known: Sequence[AgentName], principal: Principal, missing: AgentName, command: str) -> Refusal:
    nearest = _nearest(known, missing)
    if nearest is not None:
        option = "" if nearest.owner == principal.owner else f" --owner {nearest.owner}"
        full_command = command.format(name=nearest.agent) + option
        hint, hint_zh = f"Did you mean: {full_command}", f"是不是：{full_command}"
    elif own := [each.agent for each in known if each.owner == missing.owner]:
        listed = ", ".join(own[:_MAX_LISTED]) + (", …" if len(own) > _MAX_LISTED else "")
        hint, hint_zh = f"Its agents are: {listed}.", f"它的智能体有：{listed}。"
    else:
        option = "" if missing.owner == principal.owner else f" --owner {missing.owner}"
        full_command = f"horae token make {missing.agent} --agent {missing.agent}{option}"
        hint, hint_zh = (
            f"It has no agents. A token makes one: {full_command}",
            f"它没有智能体。创建令牌即可：{full_command}",
        )
    return refuse("no_such_agent", agent=missing.agent, owner=missing.owner, remedy=hint, remedy_zh=hint_zh)


def _nearest(known: Sequence[AgentName], missing: AgentName) -> AgentName | None:
    """Prefer the same name of another owner, then a similar name of this owner, then a similar name of another one."""
    same = [each for each in known if each.agent == missing.agent]
    own = [each for each in known if each.owner == missing.owner]
    for among in (same, own, known):
        for name in get_close_matches(missing.agent, [each.agent for each in among], 1):
            return next(each for each in among if each.agent == name)
    return None


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

    async def page(self, principal: Principal, after: str | None = None, limit: int = 20) -> Page[Agent]:
        """Return agents that have a token or have written something, by owner and name: for owners that are no admins,
        their own."""
        refuse_agent(principal, "agents")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        page = await list_agents(self._store, principal.owner_filter, after, limit)
        return Page(tuple([await self._load_agent(each.owner, each.agent) for each in page.items]), page.after)

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
            values = changed_values({"chosen": limits_json(before)}, {"chosen": limits_json(after)})
            detail = {"fields": sorted(quotas), **values}
            row = self._audit.row(principal, "agent.put", agent, detail, owner=account)
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
