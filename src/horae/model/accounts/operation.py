"""Operation: a bulk action on many tasks that continues in the background, and the record of its progress."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ..ids import from_microseconds, to_microseconds
from ..record import Record, RecordWrite

OPERATION_KIND: Final = "operation"
SLOT_KIND: Final = "operation.seat"
OPERATION_RETENTION: Final = timedelta(days=7)
"""Retention of the record after its last update."""
HEARTBEAT_TIMEOUT: Final = timedelta(seconds=15)
"""Heartbeat timeout: the executing process updates the record every second; without an update for this long it is gone."""
MAX_REFUSALS: Final = 100
UNDO_PERIOD: Final = timedelta(minutes=15)
"""Time after its end in which an operation can be undone."""
UNDOABLE_ACTIONS: Final = ("pause", "resume", "cancel")
UNDO_ACTION: Final = "undo"
"""Action of an operation that undoes another one."""
_INSTANTS: Final = ("created", "updated", "ended")
_NOT_IN_BODY: Final = ("id", "owner", "version")


class OperationState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    """Every task was processed."""
    CANCELLED = "cancelled"
    """Stopped on request; finished tasks stay as they are."""
    INTERRUPTED = "interrupted"
    """The executing process stopped, or the caller lost the right; finished tasks stay as they are."""


class RefusedTask(NamedTuple):
    """Task for which the action was refused, with the code and both messages."""

    task_id: str
    task: str
    code: str
    en: str
    zh: str


class Operation(NamedTuple):
    """`total` is None until the tasks are counted. `refusals` are the first hundred of `refused`. `agent` is the agent that
    requested the operation, if any; `problem` is the code of the refusal that ended it early. `changed` counts the tasks
    whose change was recorded for an undo, and `undone_by` is the operation that undoes this one."""

    id: str
    owner: str
    agent: str | None
    action: str
    filter: Mapping[str, Any]
    arguments: Mapping[str, Any]
    created: datetime
    updated: datetime
    state: OperationState = OperationState.RUNNING
    total: int | None = None
    done: int = 0
    refused: int = 0
    refusals: tuple[RefusedTask, ...] = ()
    cancelling: bool = False
    ended: datetime | None = None
    problem: str | None = None
    changed: int = 0
    undone_by: str | None = None
    version: int = 1

    def as_of(self, now: datetime) -> Operation:
        """Return the operation as seen at `now`: interrupted where it is running but its heartbeat timed out."""
        if self.state is not OperationState.RUNNING or now - self.updated <= HEARTBEAT_TIMEOUT:
            return self
        return self._replace(state=OperationState.INTERRUPTED, ended=self.updated)

    @property
    def undo_until(self) -> datetime | None:
        """End of the time in which the operation can be undone; None if there is nothing to undo, or not yet."""
        # A process that was killed has not recorded its last changes.
        may_have_changed = self.changed > 0 or self.state is OperationState.INTERRUPTED
        if self.action not in UNDOABLE_ACTIONS or self.ended is None or not may_have_changed:
            return None
        return self.ended + UNDO_PERIOD

    def can_undo(self, now: datetime) -> bool:
        """Whether an undo can begin: once, and until the end of its time."""
        return self.undone_by is None and self.undo_until is not None and now <= self.undo_until


def operation_record(operation: Operation) -> Record:
    body = {name: value for name, value in operation._asdict().items() if name not in _NOT_IN_BODY}
    body |= {name: None if body[name] is None else to_microseconds(body[name]) for name in _INSTANTS}
    # ASCII JSON: a lone surrogate, which no store takes, stays an escape.
    text = json.dumps(body, separators=(",", ":"))
    return Record(
        OPERATION_KIND, operation.id, operation.owner, text, operation.version, operation.updated + OPERATION_RETENTION
    )


def operation_from(record: Record) -> Operation:
    body = json.loads(record.body)
    body |= {name: None if body[name] is None else from_microseconds(body[name]) for name in _INSTANTS}
    body |= {"state": OperationState(body["state"])}
    body |= {"refusals": tuple(RefusedTask(*each) for each in body["refusals"])}
    return Operation(id=record.key, owner=record.owner, version=record.version, **body)


def take_slot(operation: Operation, before: Record | None) -> RecordWrite:
    """Return the write that takes the owner's single operation slot; of two writers with the same `before` one succeeds."""
    record = Record(
        SLOT_KIND,
        operation.owner,
        operation.owner,
        json.dumps(operation.id),
        expires=operation.updated + OPERATION_RETENTION,
    )
    return RecordWrite(record, None if before is None else before.version)


def operation_in_slot(slot: Record) -> str:
    """Return the id of the operation that holds, or held last, the slot of its owner."""
    return str(json.loads(slot.body))
