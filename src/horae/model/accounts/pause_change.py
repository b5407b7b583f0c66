"""Pause change: the pause of one task before and after a pause, resume or cancel, recorded so that it can be undone."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ..change import Change, Facts
from ..ids import from_microseconds, to_microseconds
from ..record import Record
from ..task import Pause, PauseCause, TaskState

PAUSE_CHANGE_KIND: Final = "operation.change"
PAUSE_CHANGE_RETENTION: Final = timedelta(days=1)
"""Longer than any operation with its time to undo it."""
CANCEL_RETENTION: Final = timedelta(days=30)
"""Time in which the cancel of one task can be undone."""
_SEPARATOR: Final = "/"
"""Between the id of the operation and the id of the task, in the key of the record."""


class PauseChange(NamedTuple):
    """`state` is the state of the task before the action; `version` is the version of its definition.

    `cancelled` is the instant of a cancel, and `agent` the agent that cancelled.
    """

    operation: str
    task_id: str
    task: str
    version: int
    state: TaskState
    before: Pause | None
    after: Pause | None
    cancelled: datetime | None = None
    agent: str | None = None

    def is_current(self, facts: Facts) -> bool:
        """Whether the task is as the action left it: the same definition, state and pause."""
        state = TaskState.ACTIVE if self.after is None else TaskState.PAUSED
        return (facts.task.version, facts.status.state, facts.status.pause) == (self.version, state, self.after)


def pause_change(operation: str, facts: Facts, change: Change) -> PauseChange | None:
    """Return how a change alters the pause of a task, cancels it, or restarts a failed one; None if it does neither."""
    before, after = facts.status, change.status or facts.status
    if (before.state, before.pause) == (after.state, after.pause):
        return None
    task = facts.task
    cancelled = after.ended if after.state is TaskState.CANCELLED else None
    return PauseChange(operation, task.id, task.name, task.version, before.state, before.pause, after.pause, cancelled)


def cancel_operation(cancelled: datetime) -> str:
    """Return what stands for the operation in the record of one cancelled task: the instant, so each cancel has its own."""
    return f"cancel-{to_microseconds(cancelled)}"


def pause_change_record(
    change: PauseChange, owner: str, now: datetime, retention: timedelta = PAUSE_CHANGE_RETENTION
) -> Record:
    """Return the record; `owner` is the owner of the operation."""
    body = {
        "task": change.task,
        "version": change.version,
        "state": change.state,
        "before": _encode(change.before),
        "after": _encode(change.after),
    }
    if change.cancelled is not None:
        body |= {"cancelled": to_microseconds(change.cancelled), "agent": change.agent}
    key = first_key(change.operation) + change.task_id
    return Record(PAUSE_CHANGE_KIND, key, owner, json.dumps(body), expires=now + retention)


def pause_change_from(record: Record) -> PauseChange:
    operation, _, task_id = record.key.partition(_SEPARATOR)
    body = json.loads(record.body)
    before, after = _decode(body["before"]), _decode(body["after"])
    cancelled = from_microseconds(body["cancelled"]) if "cancelled" in body else None
    state, agent = TaskState(body["state"]), body.get("agent")
    return PauseChange(operation, task_id, body["task"], body["version"], state, before, after, cancelled, agent)


def first_key(operation: str) -> str:
    """Return the key before those of all changes of an operation; each of them begins with it."""
    return operation + _SEPARATOR


def _encode(pause: Pause | None) -> list[Any] | None:
    if pause is None:
        return None
    until = None if pause.until is None else to_microseconds(pause.until)
    return [to_microseconds(pause.since), pause.cause, pause.note, until]


def _decode(body: list[Any] | None) -> Pause | None:
    if body is None:
        return None
    since, cause, note, until = body
    end = None if until is None else from_microseconds(until)
    return Pause(from_microseconds(since), PauseCause(cause), note, end)
