"""Event: written in the transaction of its change and numbered by the store, so that a reader with a cursor misses none."""

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
    """Consecutive failed occurrences reached `notify_after`."""
    TASK_RECOVERED = "task.recovered"
    """First success after `task.failing`."""
    TASK_OVERDUE = "task.overdue"
    """A due occurrence has not started within the grace period."""
    TASK_TRIGGERED = "task.triggered"
    """An event target published that the task is due; `detail` is the topic."""
    PLAN_RESULT = "plan.result"
    """A run of a plan, or of another task that calls a station, has been settled; `detail` is the name of its status."""
    RUN_STARTED = "run.started"
    RUN_WAITING = "run.waiting"
    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_LOST = "run.lost"
    RUN_CANCELLED = "run.cancelled"
    RUN_SKIPPED = "run.skipped"
    RUN_RETRYING = "run.retrying"
    RUN_YIELD_REQUESTED = "run.yield_requested"
    """An idle run is asked to yield; `detail` is the reason and the lane in which an entry waits."""
    WEBHOOK_BLOCKED = "webhook.blocked"
    """The node may not call the address of a webhook; `detail` is the webhook and the networks to allow, or `key`."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """Deliveries kept failing; the task is that of the last delivery, `detail` the webhook and the cause."""
    CHANNEL_CONNECTED = "channel.connected"
    """A chat channel receives messages again; `detail` is its name. The owner is that of the machine."""
    CHANNEL_FAILED = "channel.failed"
    """A chat channel receives nothing; `detail` is its name and the problem."""
    DELIVERY_SENT = "delivery.sent"
    """A chat service has accepted a text, or reports that it was received or read; `detail` is JSON with delivery, chat and state."""
    DELIVERY_DELAYED = "delivery.delayed"
    """A text has not been sent within a minute; `detail` is JSON with the delivery, the chat and the problem. One for each delivery."""
    DELIVERY_FAILED = "delivery.failed"
    """A text will not be sent; `detail` is JSON with the delivery, the chat and the problem."""
    MESSAGE_APPENDED = "message.appended"
    """A stream has new messages; `detail` is JSON with the stream, the first and the last number. Task and run sent them."""


RUN_CREATION_KINDS: Final = frozenset({EventKind.RUN_STARTED, EventKind.RUN_SKIPPED})
"""Kinds that announce a new run. The same change may also contain the event of its end."""


class Event(NamedTuple):
    """`detail` is a short text: a reason, an instant, a state."""

    kind: EventKind
    at: datetime
    owner: str
    task_id: str
    run_id: str | None = None
    detail: str | None = None


class NumberedEvent(NamedTuple):
    number: int
    event: Event


class SequencedEvent(NamedTuple):
    """Event for an external reader. `cursor` is the position to resume from; `sequence` counts the events of its owner.

    For a reader of one owner both are the same number, so that it cannot see how many events other owners have.
    """

    cursor: int
    sequence: int
    event: Event


REMOVED_EVENTS: Final = "removed_events"
"""Kind of the records that count the events removed by retention, per owner."""
