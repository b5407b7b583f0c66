"""A task: what to do and when. Its definition is cold; its standing changes with each run and is kept beside it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from ..schedule import Past, Schedule
from .policy import Policies
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
    # A new schedule wakes what was over; a person who looked resumes what had given up.
    TaskState.COMPLETED: frozenset({TaskState.ACTIVE, TaskState.CANCELLED}),
    TaskState.FAILED: frozenset({TaskState.ACTIVE, TaskState.COMPLETED, TaskState.CANCELLED}),
    TaskState.CANCELLED: frozenset(),
}

GOING: Final = frozenset({TaskState.ACTIVE, TaskState.PAUSED})
"""States in which the schedule still leads to something."""

FINISHED: Final = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
"""States that lists leave out, and that give way to unfinished tasks of the same name. A failed task is not among them: it
waits for a person."""


class PauseCause(StrEnum):
    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting_approval"
    AGENT_STOPPED = "agent_stopped"
    ORPHANED = "orphaned"
    OWNER_REVOKED = "owner_revoked"
    QUOTA = "quota"


class Target(NamedTuple):
    """Where the work goes: which kind of target, and what that kind needs to know, as JSON text."""

    kind: str
    spec: str


class Task(NamedTuple):
    """The definition. `created` is the anchor of its schedule, `version` rises with each edit."""

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


class Pause(NamedTuple):
    since: datetime
    cause: PauseCause = PauseCause.REQUESTED
    note: str = ""
    until: datetime | None = None


class Standing(NamedTuple):
    """What changes as a task lives; no index is built on any of it, so that a run costs one small write here.

    `counted` is what the schedule's repeat counts, `failures` the failed occurrences in a row, `last_end` the end of the
    last scheduled occurrence, `last_result` the first 200 characters of what came of it.
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


FRESH: Final = Standing()


def past_of(task: Task, standing: Standing) -> Past:
    return Past(task.created, standing.counted, standing.last_end)
