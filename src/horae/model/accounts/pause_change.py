"""Pause change: the pause of one task before and after a bulk pause or resume, recorded so that the action can be undone."""

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
_SEPARATOR: Final = "/"
"""Between the id of the operation and the id of the task, in the key of the record."""


class PauseChange(NamedTuple):
    """`state` is the state of the task before the action; `version` is the version of its definition."""

    operation: str
    task_id: str
    task: str
    version: int
    state: TaskState
    before: Pause | None
    after: Pause | None

    def is_current(self, facts: Facts) -> bool:
        """Whether the task is as the action left it: the same definition, state and pause."""
        state = TaskState.ACTIVE if self.after is None else TaskState.PAUSED
        return (facts.task.version, facts.status.state, facts.status.pause) == (self.version, state, self.after)


def pause_change(operation: str, facts: Facts, change: Change) -> PauseChange | None:
    """Return how a change alters the pause of a task, or restarts a failed one; None if it does neither."""
    before, after = facts.status, change.status or facts.status
    if (before.state, before.pause) == (after.state, after.pause):
        return None
    task = facts.task
    return PauseChange(operation, task.id, task.name, task.version, before.state, before.pause, after.pause)


def pause_change_record(change: PauseChange, owner: str, now: datetime) -> Record:
    """Return the record; `owner` is the owner of the operation."""
    body = {
        "task": change.task,
        "version": change.version,
        "state": change.state,
        "before": _encode(change.before),
        "after": _encode(change.after),
    }
    key = first_key(change.operation) + change.task_id
    return Record(PAUSE_CHANGE_KIND, key, owner, json.dumps(body), expires=now + PAUSE_CHANGE_RETENTION)


def pause_change_from(record: Record) -> PauseChange:
    operation, _, task_id = record.key.partition(_SEPARATOR)
    body = json.loads(record.body)
    before, after = _decode(body["before"]), _decode(body["after"])
    return PauseChange(operation, task_id, body["task"], body["version"], TaskState(body["state"]), before, after)


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
