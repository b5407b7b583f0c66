"""Task: its definition, which rarely changes, and its status, which changes with each run and is stored separately."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from ..schedule import Now, Past, Schedule
from .ids import EPOCH
from .policy import Policies, policies_for
from .reason import Reason


class TaskState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TRANSITIONS: Final[dict[TaskState, frozenset[TaskState]]] = {
    TaskState.ACTIVE: frozenset({TaskState.PAUSED, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED}),
    TaskState.PAUSED: frozenset({TaskState.ACTIVE, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED}),
    # A new schedule reactivates a completed task; an operator resumes a failed one.
    TaskState.COMPLETED: frozenset({TaskState.ACTIVE, TaskState.CANCELLED}),
    TaskState.FAILED: frozenset({TaskState.ACTIVE, TaskState.COMPLETED, TaskState.CANCELLED}),
    # The undo of a cancel brings the task back.
    TaskState.CANCELLED: frozenset({TaskState.ACTIVE, TaskState.PAUSED}),
}

OPEN_STATES: Final = frozenset({TaskState.ACTIVE, TaskState.PAUSED})
"""States in which the schedule still produces occurrences."""

FINISHED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
"""States that lists leave out, and over which an unfinished task of the same name takes precedence. `failed` is not among
them, because an operator must act."""


class PauseCause(StrEnum):
    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting_approval"
    AGENT_STOPPED = "agent_stopped"
    ORPHANED = "orphaned"
    OWNER_REVOKED = "owner_revoked"
    QUOTA = "quota"
    PREDECESSOR_DELETED = "predecessor_deleted"
    GATE_FAILED = "gate_failed"
    OWNER_MOVING = "owner_moving"
    """Its owner moves to another deployment, which lets it go on (`lifecycle/control/owner_move.py`)."""


class Target(NamedTuple):
    """Destination of the work: the kind of target and its specification as JSON text."""

    kind: str
    spec: str


def gate_target(policies: Policies) -> Target | None:
    """Return the gate as a target; None without one."""
    gate = policies.gate
    return None if gate is None else Target(gate.kind, gate.spec)


class Task(NamedTuple):
    """Definition of a task. `created` is the anchor of its schedule, `version` rises with each edit.

    `successors` are the ids of the tasks that run after this one; their `after` schedules decide, and the store keeps both
    equal.
    """

    id: str
    owner: str
    name: str
    schedule: Schedule
    target: Target
    payload: str
    policies: Policies
    created: datetime
    key: str | None = None
    lane: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    version: int = 1
    successors: tuple[str, ...] = ()

    @property
    def lanes(self) -> tuple[str, ...]:
        """All lanes in which a run of the task takes a slot, besides that of its owner."""
        lane, further = self.lane, self.policies.lanes
        if lane is None:
            return ()
        return (lane, *further) if further else (lane,)


class TaskPast(NamedTuple):
    """The past that a new task brings along, from another scheduler or from a plan that began earlier.

    `created` is the anchor of its schedule (None: now), `counted` and `last_end` are as in its status. Occurrences from
    `missed_since` on are unaccounted for, and the missed policy decides about them; None: all are accounted for.
    """

    created: datetime | None = None
    counted: int = 0
    last_end: datetime | None = None
    missed_since: datetime | None = None


class Pause(NamedTuple):
    since: datetime
    cause: PauseCause = PauseCause.REQUESTED
    note: str = ""
    until: datetime | None = None


class TaskStatus(NamedTuple):
    """Mutable state of a task. No index covers it, so that a run costs one small write here.

    `counted` is the number of occurrences against the schedule's repeat, `failures` the consecutive failed occurrences,
    `last_end` the end of the last scheduled occurrence, `last_result` the first 200 characters of its result or error.
    """

    state: TaskState = TaskState.ACTIVE
    counted: int = 0
    failures: int = 0
    skips_left: int = 0
    last_end: datetime | None = None
    last_result: str | None = None
    pause: Pause | None = None
    reason: Reason | None = None
    ended: datetime | None = None


NEW_TASK_STATUS: Final = TaskStatus()


def partial_task(task_id: str, name: str, zone: str | None = None) -> Task:
    """Build a task of which only the id, the name and the zone are known."""
    schedule = Now(zone=zone)
    return Task(task_id, "", name, schedule, Target("", "{}"), "{}", policies_for(schedule), EPOCH)


def past_of(task: Task, status: TaskStatus) -> Past:
    return Past(task.created, status.counted, status.last_end)
