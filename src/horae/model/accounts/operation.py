"""An operation: a wish for many tasks that goes on after the answer to it, and the record that tells how far it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ..ids import instant, microseconds
from ..record import Record, Writing

OPERATION: Final = "operation"
SEAT: Final = "operation.seat"
KEPT: Final = timedelta(days=7)
"""After its last sign of life."""
SILENCE: Final = timedelta(seconds=15)
"""Whoever carries one writes every second; after so long without a word nobody carries it any more."""
MOST_REFUSALS: Final = 100
_INSTANTS: Final = ("created", "updated", "ended")
_NOT_IN_BODY: Final = ("id", "owner", "version")


class OperationState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    """Everything had its turn."""
    CANCELLED = "cancelled"
    """Somebody wanted it to end; what was done stays done."""
    INTERRUPTED = "interrupted"
    """The process that carried it stopped, or its bearer lost the right; what was done stays done."""


class TurnedDown(NamedTuple):
    """One task for which it was refused."""

    task_id: str
    task: str
    code: str
    en: str
    zh: str


class Operation(NamedTuple):
    """`total` is None until it was counted. `refusals` are the first hundred of `refused`. `agent` is the guest who asked for
    it, where it was one; `problem` is the code of what ended it too early."""

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
    refusals: tuple[TurnedDown, ...] = ()
    cancelling: bool = False
    ended: datetime | None = None
    problem: str | None = None
    version: int = 1

    def as_of(self, now: datetime) -> Operation:
        """What nobody has told of for so long is not running any more, whatever it says."""
        if self.state is not OperationState.RUNNING or now - self.updated <= SILENCE:
            return self
        return self._replace(state=OperationState.INTERRUPTED, ended=self.updated)


def operation_record(operation: Operation) -> Record:
    body = {name: value for name, value in operation._asdict().items() if name not in _NOT_IN_BODY}
    body |= {name: None if body[name] is None else microseconds(body[name]) for name in _INSTANTS}
    # Half of a surrogate pair, which no store takes, stays an escape.
    text = json.dumps(body, separators=(",", ":"))
    return Record(OPERATION, operation.id, operation.owner, text, operation.version, operation.updated + KEPT)


def operation_from(record: Record) -> Operation:
    body = json.loads(record.body)
    body |= {name: None if body[name] is None else instant(body[name]) for name in _INSTANTS}
    body |= {"state": OperationState(body["state"])}
    body |= {"refusals": tuple(TurnedDown(*each) for each in body["refusals"])}
    return Operation(id=record.key, owner=record.owner, version=record.version, **body)


def seat_of(operation: Operation, before: Record | None) -> Writing:
    """The one place that an owner has: whoever writes it first has it."""
    record = Record(SEAT, operation.owner, operation.owner, json.dumps(operation.id), expires=operation.updated + KEPT)
    return Writing(record, None if before is None else before.version)


def sitting(seat: Record) -> str:
    """The operation that has it, or had it last."""
    return str(json.loads(seat.body))
