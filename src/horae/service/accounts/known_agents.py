"""Lookup of agents: whether an owner has an agent of a name, and the refusal with the nearest name where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple, Protocol

from ...errors import Refusal
from ...model.accounts.account import AGENT_KIND, ALL_AGENTS, agent_key
from ...model.accounts.principal import AGENT_LABEL, Principal
from ...model.lane import agent_lane
from ...model.page import MAX_PAGE_SIZE
from ...ports.records import Records
from ...ports.store import Book, TaskFilter
from ..tasks.task_quota import QUOTA_KIND, agent_record_key
from .refusals import refuse

SHOW_COMMAND: Final = "horae agent show {name}"
STOP_COMMAND: Final = "horae agent stop {name}"
RESTART_COMMAND: Final = "horae agent restart {name}"
_MAX_LISTED: Final = 5


class AgentStore(Book, Records, Protocol):
    """The store operations that a lookup needs."""


class _Name(NamedTuple):
    owner: str
    agent: str


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
    raise _build_refusal(await _load_names(store, principal.owner_filter), principal, _Name(owner, agent), command)


async def _load_names(store: AgentStore, owner: str | None) -> list[_Name]:
    """Return agents with a record, by owner and name; of each kind of record only the first page is read."""
    names: set[_Name] = set()
    for kind in (QUOTA_KIND, AGENT_KIND):
        for record in (await store.records(kind, owner, limit=MAX_PAGE_SIZE)).items:
            owner_name, separator, agent = record.key.partition("/")
            if separator and agent != ALL_AGENTS:
                names.add(_Name(owner_name, agent))
    return sorted(names)


def _build_refusal(known: Sequence[_Name], principal: Principal, missing: _Name, command: str) -> Refusal:
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


def _nearest(known: Sequence[_Name], missing: _Name) -> _Name | None:
    """Prefer the same name of another owner, then a similar name of this owner, then a similar name of another one."""
    same = [each for each in known if each.agent == missing.agent]
    own = [each for each in known if each.owner == missing.owner]
    for among in (same, own, known):
        for name in get_close_matches(missing.agent, [each.agent for each in among], 1):
            return next(each for each in among if each.agent == name)
    return None
