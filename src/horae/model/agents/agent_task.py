"""Rules for tasks of agents: each belongs to its group, and is in the lanes of its group and of all agents; pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..accounts.account import agent_of
from ..accounts.system_owner import account_of, is_system_owner
from ..lanes.node_labels import NODE_LABEL, LabelPairs
from ..refusals import refuse
from ..task import Target, Task
from .group import GROUP_OWNER_PREFIX, folder_of_owner

AGENT_KIND: Final = "agent"
AGENTS_LANE: Final = "agents"
"""Lane that all agents share: its limit is the number of agents at once."""


def group_lane(folder: str) -> str:
    """Lane of a group, with the limit 1: a group has one agent at a time."""
    return GROUP_OWNER_PREFIX + folder


def owner_of_prompt(target: Target) -> str | None:
    """Return the owner of a task of an agent where a request names none; None for every other target."""
    if target.kind != AGENT_KIND:
        return None
    owner = GROUP_OWNER_PREFIX + str(_spec(target).get("group", ""))
    return None if folder_of_owner(owner) is None else owner


def check_agent_task(owner: str, target: Target) -> None:
    """Refuse a task of an agent that does not belong to the owner of its group, and a turn of messages by hand."""
    if target.kind != AGENT_KIND:
        return
    spec = _spec(target)
    wanted = GROUP_OWNER_PREFIX + str(spec.get("group", ""))
    if account_of(owner) != wanted:
        raise refuse("agent_owner", folder=spec.get("group", ""), owner=owner, wanted=wanted)
    if spec.get("messages") and not is_system_owner(owner):
        raise refuse("agent_messages", folder=spec.get("group", ""))


def agent_lanes(target: Target, lanes: Sequence[str]) -> tuple[str, ...]:
    """Return the lanes of a task with those that its target needs; those of another group are left out."""
    if target.kind != AGENT_KIND:
        return tuple(lanes)
    own = group_lane(str(_spec(target).get("group", "")))
    kept = [name for name in lanes if name == own or not name.startswith(GROUP_OWNER_PREFIX)]
    return tuple(dict.fromkeys((*kept, own, AGENTS_LANE)))


def with_agent_lanes(task: Task) -> Task:
    """Return the task in the lanes that its target needs."""
    if task.target.kind != AGENT_KIND:
        return task
    first, *further = agent_lanes(task.target, task.lanes)
    return task._replace(lane=first, policies=replace(task.policies, lanes=tuple(further)))


def pin_to_node(where: LabelPairs, node: str | None, former: str | None = None) -> LabelPairs:
    """Return the labels that a task of a group requires when the group has this node, and had the former one."""
    pairs = {name: value for name, value in where if (name, value) != (NODE_LABEL, former)}
    return tuple(sorted({**pairs, **({} if node is None else {NODE_LABEL: node})}.items()))


def executing_agent(task: Task) -> str | None:
    """Return the agent that made a task, or executes it: the prompt of a person is executed by the agent of its group."""
    maker = agent_of(task)
    return folder_of_owner(task.owner) if maker is None and task.target.kind == AGENT_KIND else maker


def _spec(target: Target) -> dict[str, Any]:
    spec = json.loads(target.spec)
    return spec if isinstance(spec, dict) else {}
