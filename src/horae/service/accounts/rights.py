"""Access rules: the tasks that a principal sees, and the lanes, natural keys and labels that it may use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from ...model.accounts.principal import AGENT_LABEL, RESERVED_LABEL_PREFIX, TOKEN_LABEL, VIA_LABEL, Principal
from ...model.accounts.system_owner import EVERY_SYSTEM_OWNER, account_of, is_system_owner, system_owner
from ...model.lanes.lane import OWNER_LANE_PREFIX, agent_lane, owner_lane_prefix
from ...model.limits import KEY_CHARACTERS
from ...model.task import Task
from ...model.text.field_checks import check_text
from ...ports.store import TaskFilter
from .refusals import refuse

TOKEN_PREFIX: Final = "tok_"  # noqa: S105 - how the ids of tokens begin
LOCAL_ACTORS: Final = frozenset({"", "local"})
"""Actors with direct access to the store: a program, or the command line on a file."""

Labels = Mapping[str, str] | None


def can_see(principal: Principal, task: Task) -> bool:
    """Whether the principal sees a task: an agent sees only tasks that it made itself."""
    return principal.agent is None or (task.owner == principal.owner and (AGENT_LABEL, principal.agent) in task.labels)


SYSTEM_CONTROLS: Final = frozenset({"task.pause", "task.resume", "task.run", "task.skip", "run.retry"})
"""Actions on system tasks that an admin may take."""


def check_system_task(principal: Principal, task: Task, action: str) -> None:
    """Refuse a change of a system task: only Horae itself, which acts as its owner, may make it.

    Its account may stop a run of it, an admin may also pause, resume and run it.
    """
    if not is_system_owner(task.owner) or principal.owner == task.owner or action == "run.cancel":
        return
    if action not in SYSTEM_CONTROLS or principal.owner_filter is not None:
        raise refuse("system_task", name=task.name, id=task.id)


def restrict_filter(principal: Principal, task_filter: TaskFilter) -> TaskFilter:
    """Restrict a filter to tasks that the principal may see."""
    owner = listed_owner(principal, task_filter.owner)
    lane = None if task_filter.lane is None else full_lane_name(principal, principal.owner, task_filter.lane)
    labels = task_filter.labels if principal.agent is None else (*task_filter.labels, (AGENT_LABEL, principal.agent))
    return task_filter._replace(owner=owner, lane=lane, labels=labels)


def is_foreign(principal: Principal, owner: str | None) -> bool:
    """Whether the principal names another owner whose data it may not see.

    The result is then empty; it must not be taken for a query without an owner.
    """
    scope = principal.owner_filter
    if owner is None or scope is None or scope == EVERY_SYSTEM_OWNER:
        return False
    return owner not in (scope, account_of(scope))


def listed_owner(principal: Principal, owner: str | None) -> str:
    """Return the owner, or the scope of many, whose tasks a list shows; `owner` is the one that the caller names."""
    scope = principal.owner_filter
    if scope is None:
        return principal.list_scope if owner is None else owner
    return system_owner(owner) if scope == EVERY_SYSTEM_OWNER and owner is not None else scope


def has_same_rights(current: Principal, before: Principal) -> bool:
    """Whether a principal that was authenticated again may do and see what it could before."""
    return (current.owner, current.owner_filter, current.agent, current.scopes) == (
        before.owner,
        before.owner_filter,
        before.agent,
        before.scopes,
    )


def refuse_agent(principal: Principal, what: str) -> None:
    if principal.agent is not None:
        raise refuse("not_for_agents", what=what)


# --- lanes -------------------------------------------------------------------------------------------------------


def full_lane_name(principal: Principal, owner: str, name: str) -> str:
    """Return the full name of a lane.

    Shared lanes are for admins; other owners name lanes of their own, so that they cannot block others.
    """
    if principal.owner_filter is None or name.startswith((owner_lane_prefix(owner), OWNER_LANE_PREFIX)):
        return name
    return owner_lane_prefix(owner) + name


class TaskLanes(NamedTuple):
    """Lane of a task, and the further ones."""

    lane: str | None
    further: tuple[str, ...] = ()


def task_lanes(
    principal: Principal, owner: str, wanted: TaskLanes, before: Task | None = None, granted: Collection[str] = ()
) -> TaskLanes:
    """Return the full names of the lanes for a task; repeating its current lanes changes nothing.

    The lane of an agent comes first and stays: the others count besides it. `granted` are the lanes of a function's
    declaration: everyone uses them as they are.
    """
    if before is not None and wanted == (before.lane, before.policies.lanes):
        return wanted
    kept = {*granted, *(() if before is None else before.lanes)}
    given = (*(() if wanted.lane is None else (wanted.lane,)), *wanted.further)
    for place, name in enumerate(given):
        # Here, because the full name of an empty one is not empty.
        check_text("lane" if place == 0 and wanted.lane is not None else "lanes", name, KEY_CHARACTERS)
    names = [name if name in kept else full_lane_name(principal, owner, name) for name in given]
    if principal.agent is not None:
        names.insert(0, agent_lane(principal.owner, principal.agent))
    lane, *further = dict.fromkeys(names) or (None,)
    return TaskLanes(lane, tuple(further))


# --- keys --------------------------------------------------------------------------------------------------------


def scoped_key(principal: Principal, key: str) -> str:
    """Return the natural key as stored: keys of an agent become `agent:NAME/key`.

    So an agent cannot probe which keys its owner, or another agent, has.
    """
    prefix = "" if principal.agent is None else f"agent:{principal.agent}/"
    return key if key.startswith(prefix) else prefix + key


# --- labels ------------------------------------------------------------------------------------------------------


def task_labels(principal: Principal, labels: Labels, before: Task | None = None) -> Labels:
    """Merge requested labels with those that only Horae writes: the origin of a new task, or the existing ones.

    Sending back labels as shown changes nothing. A caller with direct access to the store restores exported labels.
    """
    horae_labels = origin_labels(principal) if before is None else reserved_labels(before)
    if not labels:
        return horae_labels or labels
    may_restore = (
        before is None
        and principal.agent is None
        and principal.owner_filter is None
        and principal.actor in LOCAL_ACTORS
    )
    for name, value in labels.items():
        if is_reserved(name) and not may_restore and horae_labels.get(name) != value:
            raise refuse("reserved_label", name=name)
    return {**labels, **horae_labels}


def is_reserved(name: object) -> bool:
    return isinstance(name, str) and name.startswith(RESERVED_LABEL_PREFIX)


def reserved_labels(task: Task) -> dict[str, str]:
    return {name: value for name, value in task.labels if is_reserved(name)}


def origin_labels(principal: Principal) -> dict[str, str]:
    """Return the labels for the origin of a task that an agent made; an agent cannot choose them."""
    if principal.agent is None:
        return {}
    token = principal.actor if principal.actor.startswith(TOKEN_PREFIX) else ""
    lineage = {} if principal.lineage is None else principal.lineage.labels
    labels = {AGENT_LABEL: principal.agent, VIA_LABEL: principal.via, TOKEN_LABEL: token, **lineage}
    return {name: value for name, value in labels.items() if value}
