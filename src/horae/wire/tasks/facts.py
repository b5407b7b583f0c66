"""Decodes task JSON to `Facts`, so that a client renders a task as the server would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...model.change import Facts
from ...model.entry import NEXT_SLOT, Entry, EntryKind, EntryState, slot_for
from ...model.policy import policies_for
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState
from ...model.task import Pause, PauseCause, Task, TaskState, TaskStatus
from ...schedule import from_json
from ...service.tasks.task_chain import TaskChain
from ...service.tasks.task_request import apply_options
from ..agenda import with_agenda
from ..instants import parse_instant, parse_optional_instant
from .policies import read_policies
from .targets import read_target
from .task import OWNER_BLOCKED, read_payload

_PARKED_PREFIXES: Final = ("lane", "node")


def read_facts(data: Mapping[str, Any]) -> Facts:
    """Decode facts, with the agenda if the JSON includes one; otherwise with a minimal agenda that renders the same."""
    task, status = read_definition(data), _read_status(data)
    facts = Facts(
        task,
        status,
        _minimal_entries(task, data),
        _placeholder_runs(task, data["running"]),
        block_reason=_read_block(data),
    )
    agenda = data.get("agenda")
    return facts if agenda is None else with_agenda(facts, agenda)


def read_task_chain(data: Mapping[str, Any]) -> TaskChain:
    return TaskChain(tuple(map(read_facts, data["tasks"])), cut=data["cut"])


def read_definition(data: Mapping[str, Any]) -> Task:
    """Decode the task definition; unknown fields of a newer server are ignored."""
    schedule = from_json(data["when"]).with_defaults(data["zone"])
    return Task(
        id=data["id"],
        owner=data["owner"],
        name=data["name"],
        schedule=schedule,
        target=read_target({"target": data["target"]}),
        payload=read_payload(data),
        policies=apply_options(policies_for(schedule), read_policies(data["policies"])),
        created=parse_instant(data["created"]),
        key=data["key"],
        lane=data["lane"],
        labels=tuple(sorted(data["labels"].items())),
        version=data["version"],
    )


def _read_status(data: Mapping[str, Any]) -> TaskStatus:
    return TaskStatus(
        state=TaskState(data["state"]),
        counted=data["counted"],
        failures=data["failures"],
        skips_left=data["skips_left"],
        last_result=data["last_result"],
        pause=_read_pause(data["pause"]),
        reason=None if data["reason"] is None else Reason(data["reason"]),
        ended=parse_optional_instant(data["ended"]),
    )


def _read_pause(data: Mapping[str, Any] | None) -> Pause | None:
    if data is None:
        return None
    return Pause(
        parse_instant(data["since"]), PauseCause(data["cause"]), data["note"], parse_optional_instant(data["until"])
    )


def _read_block(data: Mapping[str, Any]) -> Reason | None:
    prefix, _, reason = (data["waiting_for"] or "").partition(":")
    return Reason(reason) if prefix == OWNER_BLOCKED else None


def _minimal_entries(task: Task, data: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Build one entry that has the due time of the task's next run, and the state that `waiting_for` implies."""
    due = parse_optional_instant(data["next"])
    prefix, _, name = (data["waiting_for"] or "").partition(":")
    if prefix in ("", OWNER_BLOCKED):
        return () if due is None else (Entry(task.id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner),)
    # An entry that waits but has no next run can only be a deadline.
    kind, at = (EntryKind.DEADLINE, task.created) if due is None else (EntryKind.WAITING, due)
    entry_state, lane = (EntryState.PARKED, name) if prefix in _PARKED_PREFIXES else (EntryState.HELD, None)
    slot = slot_for(kind, Origin.SCHEDULED, at)
    return (Entry(task.id, slot, kind, at, at, task.owner, state=entry_state, lane=lane),)


def _placeholder_runs(task: Task, number: int) -> tuple[Run, ...]:
    """Build `number` live runs of which only the number is known."""
    placeholder = Run("", task.id, task.owner, Origin.SCHEDULED, task.created, task.created, 1, RunState.RUNNING)
    return (placeholder,) * number
