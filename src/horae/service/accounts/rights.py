"""Who may see and name what: owners, agents, the labels that only Horae writes, and whose a lane is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...model.accounts.principal import AGENT_LABEL, RESERVED_LABELS, TOKEN_LABEL, VIA_LABEL, Principal
from ...model.lane import OWNER_LANE, agent_lane, own_lanes
from ...model.refusals import refuse as refuse_task
from ...model.task import Task
from ...ports.store import TaskFilter
from .refusals import refuse

TOKEN_PREFIX: Final = "tok_"  # noqa: S105 - how the ids of tokens begin
LOCAL_ACTORS: Final = frozenset({"", "local"})
"""Whoever holds the store itself: a program, or the command line on a file."""

Labels = Mapping[str, str] | None


def sees(who: Principal, task: Task) -> bool:
    """Of the tasks that its owner has, an agent sees those that it made itself."""
    return who.agent is None or (task.owner == who.owner and (AGENT_LABEL, who.agent) in task.labels)


def seen_by(who: Principal, wanted: TaskFilter) -> TaskFilter:
    """Whatever is asked for, nobody is shown more than is theirs."""
    owner = wanted.owner if who.scope is None else who.scope
    lane = None if wanted.lane is None else lane_of(who, who.owner, wanted.lane)
    labels = wanted.labels if who.agent is None else (*wanted.labels, (AGENT_LABEL, who.agent))
    return wanted._replace(owner=owner, lane=lane, labels=labels)


def is_foreign(who: Principal, owner: str | None) -> bool:
    """Whether somebody asks for what can only be somebody else's. Nothing of it is shown; and above all it is not taken for
    a wish for all that is theirs."""
    return owner is not None and who.scope not in (None, owner)


def refuse_agent(who: Principal, what: str) -> None:
    if who.agent is not None:
        raise refuse("not_for_agents", what=what)


# --- lanes -------------------------------------------------------------------------------------------------------


def lane_of(who: Principal, owner: str, name: str) -> str:
    """The lane that somebody means. Lanes of everybody are an admin's to give out: others name their own, so that nobody
    can sit in the way of somebody else."""
    if who.scope is None or name.startswith((own_lanes(owner), OWNER_LANE)):
        return name
    return own_lanes(owner) + name


def task_lane(
    who: Principal, owner: str, name: str | None, before: Task | None = None, granted: str | None = None
) -> str | None:
    """Where a task is to sit; whoever repeats where it sits already changes nothing.

    `granted` is the lane of a function's declaration: owners use it as it is, an agent stays in its own.
    """
    if before is not None and name == before.lane:
        return name
    if who.agent is not None:
        lane = agent_lane(who.owner, who.agent)
        if name not in (None, lane, granted):
            raise refuse_task("bad_choice", name="lane", value=name, allowed=lane)
        return lane
    return name if name in (None, granted) else lane_of(who, owner, name)


# --- keys --------------------------------------------------------------------------------------------------------


def own_key(who: Principal, key: str) -> str:
    """The natural key that a caller means. Keys of an agent are its own, `agent:NAME/key`: it cannot find out which keys
    its owner, or another agent, has."""
    prefix = "" if who.agent is None else f"agent:{who.agent}/"
    return key if key.startswith(prefix) else prefix + key


# --- labels ------------------------------------------------------------------------------------------------------


def task_labels(who: Principal, labels: Labels, before: Task | None = None) -> Labels:
    """What was asked for, and what only Horae writes: who made it, or what stands there already.

    Whoever sends back what they were shown changes nothing. Who holds the store itself restores what was exported.
    """
    stamped = stamps(who) if before is None else reserved(before)
    if not labels:
        return stamped or labels
    trusted = before is None and who.agent is None and who.scope is None and who.actor in LOCAL_ACTORS
    for name, value in labels.items():
        if is_reserved(name) and not trusted and stamped.get(name) != value:
            raise refuse("reserved_label", name=name)
    return {**labels, **stamped}


def is_reserved(name: object) -> bool:
    return isinstance(name, str) and name.startswith(RESERVED_LABELS)


def reserved(task: Task) -> dict[str, str]:
    return {name: value for name, value in task.labels if is_reserved(name)}


def stamps(who: Principal) -> dict[str, str]:
    """Where a task comes from, when an agent made it: never from what it says of itself."""
    if who.agent is None:
        return {}
    token = who.actor if who.actor.startswith(TOKEN_PREFIX) else ""
    found = {AGENT_LABEL: who.agent, VIA_LABEL: who.via, TOKEN_LABEL: token}
    return {name: value for name, value in found.items() if value}
