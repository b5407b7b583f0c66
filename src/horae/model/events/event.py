"""What happened, as it is told: written with the change it tells of, numbered by the store, never missed by a reader."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple


class EventKind(StrEnum):
    TASK_CREATED = "task.created"
    TASK_EDITED = "task.edited"
    TASK_PAUSED = "task.paused"
    TASK_RESUMED = "task.resumed"
    TASK_COMPLETED = "task.completed"
    TASK_FAILED = "task.failed"
    TASK_CANCELLED = "task.cancelled"
    TASK_DELETED = "task.deleted"
    TASK_REPLANNED = "task.replanned"
    TASK_FAILING = "task.failing"
    """So many failed occurrences in a row as its policy wants to hear of."""
    TASK_RECOVERED = "task.recovered"
    """And the first success after them."""
    TASK_OVERDUE = "task.overdue"
    """What was due has not started within a grace."""
    TASK_TRIGGERED = "task.triggered"
    """An event target told that the task is due; `detail` is the topic."""
    RUN_STARTED = "run.started"
    RUN_WAITING = "run.waiting"
    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_LOST = "run.lost"
    RUN_CANCELLED = "run.cancelled"
    RUN_SKIPPED = "run.skipped"
    RUN_RETRYING = "run.retrying"
    WEBHOOK_BLOCKED = "webhook.blocked"
    """The node may not call the address of a webhook; `detail` is the webhook and the networks to allow, or `key`."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """Nobody took what was to be told there; the task is the one of which it was last, `detail` the webhook and why."""


OF_BIRTH: Final = frozenset({EventKind.RUN_STARTED, EventKind.RUN_SKIPPED})
"""What tells that there is a run. How the same run ended may be told beside it."""


class Event(NamedTuple):
    """`detail` is a short text: a reason, an instant, a state."""

    kind: EventKind
    at: datetime
    owner: str
    task_id: str
    run_id: str | None = None
    detail: str | None = None


class Numbered(NamedTuple):
    number: int
    event: Event


class Sequenced(NamedTuple):
    """An event for a reader outside. `cursor` is where that reader resumes; `sequence` counts the events of its owner.

    For a reader of one owner both are the same number: nothing tells how much happens elsewhere.
    """

    cursor: int
    sequence: int
    event: Event


REMOVED_EVENTS: Final = "removed_events"
"""Kind of the records that count, for each owner, the events that retention has removed."""
