"""Decodes task JSON to `Facts`, so that a client renders a task as the server would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..model.change import Facts
from ..model.entry import NEXT_SLOT, Entry, EntryKind, Stand, slot_for
from ..model.policy import policies_for
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState
from ..model.task import Pause, PauseCause, Standing, Task, TaskState
from ..schedule import from_json
from ..service.tasks.task_request import chosen_policies
from .agenda import with_agenda
from .instants import instant, read_instant
from .policies import read_policies
from .tasks import BARRED, read_payload, read_target

_PARKED_PREFIXES: Final = ("lane", "node")


def read_facts(data: Mapping[str, Any]) -> Facts:
    """Decode facts, with the agenda if the JSON includes one; otherwise with a minimal agenda that renders the same."""
    task, status = read_definition(data), _read_status(data)
    facts = Facts(
        task, status, _minimal_entries(task, data), _placeholder_runs(task, data["running"]), block_reason=_read_block(data)
    )
    agenda = data.get("agenda")
    return facts if agenda is None else with_agenda(facts, agenda)


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
        policies=chosen_policies(policies_for(schedule), read_policies(data["policies"])),
        created=instant(data["created"]),
        key=data["key"],
        lane=data["lane"],
        labels=tuple(sorted(data["labels"].items())),
        version=data["version"],
    )


def _read_status(data: Mapping[str, Any]) -> Standing:
    return Standing(
        state=TaskState(data["state"]),
        counted=data["counted"],
        failures=data["failures"],
        skips_left=data["skips_left"],
        last_result=data["last_result"],
        pause=_read_pause(data["pause"]),
        reason=None if data["reason"] is None else Reason(data["reason"]),
        ended=read_instant(data["ended"]),
    )


def _read_pause(data: Mapping[str, Any] | None) -> Pause | None:
    if data is None:
        return None
    return Pause(instant(data["since"]), PauseCause(data["cause"]), data["note"], read_instant(data["until"]))


def _read_block(data: Mapping[str, Any]) -> Reason | None:
    prefix, _, reason = (data["waiting_for"] or "").partition(":")
    return Reason(reason) if prefix == BARRED else None


def _minimal_entries(task: Task, data: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Build one entry that has the due time of the task's next run, and the state that `waiting_for` implies."""
    due = read_instant(data["next"])
    prefix, _, name = (data["waiting_for"] or "").partition(":")
    if prefix in ("", BARRED):
        return () if due is None else (Entry(task.id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner),)
    # An entry that waits but has no next run can only be a deadline.
    kind, at = (EntryKind.DEADLINE, task.created) if due is None else (EntryKind.WAITING, due)
    entry_state, lane = (Stand.PARKED, name) if prefix in _PARKED_PREFIXES else (Stand.HELD, None)
    slot = slot_for(kind, Origin.SCHEDULED, at)
    return (Entry(task.id, slot, kind, at, at, task.owner, state=entry_state, lane=lane),)


def _placeholder_runs(task: Task, number: int) -> tuple[Run, ...]:
    """Build `number` live runs of which only the number is known."""
    placeholder = Run("", task.id, task.owner, Origin.SCHEDULED, task.created, task.created, 1, RunState.RUNNING)
    return (placeholder,) * number
