"""A task with how it stands, read back from its JSON: what a client shows of it is what the server would show."""

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

_LANE_OR_NODE: Final = ("lane", "node")


def read_facts(said: Mapping[str, Any]) -> Facts:
    """With its agenda where that was told too; else with as much of one as tells the same of it."""
    task, standing = read_definition(said), _standing(said)
    facts = Facts(task, standing, _entries(task, said), _live(task, said["running"]), barred=_barred(said))
    agenda = said.get("agenda")
    return facts if agenda is None else with_agenda(facts, agenda)


def read_definition(said: Mapping[str, Any]) -> Task:
    """The task itself, by what a server says of it; fields that a newer one has beside these are let pass."""
    schedule = from_json(said["when"]).with_defaults(said["zone"])
    return Task(
        id=said["id"],
        owner=said["owner"],
        name=said["name"],
        schedule=schedule,
        target=read_target({"target": said["target"]}),
        payload=read_payload(said),
        policies=chosen_policies(policies_for(schedule), read_policies(said["policies"])),
        created=instant(said["created"]),
        key=said["key"],
        lane=said["lane"],
        labels=tuple(sorted(said["labels"].items())),
        version=said["version"],
    )


def _standing(said: Mapping[str, Any]) -> Standing:
    return Standing(
        state=TaskState(said["state"]),
        counted=said["counted"],
        failures=said["failures"],
        skips_left=said["skips_left"],
        last_result=said["last_result"],
        pause=_pause(said["pause"]),
        reason=None if said["reason"] is None else Reason(said["reason"]),
        ended=read_instant(said["ended"]),
    )


def _pause(said: Mapping[str, Any] | None) -> Pause | None:
    if said is None:
        return None
    return Pause(instant(said["since"]), PauseCause(said["cause"]), said["note"], read_instant(said["until"]))


def _barred(said: Mapping[str, Any]) -> Reason | None:
    place, _, reason = (said["waiting_for"] or "").partition(":")
    return Reason(reason) if place == BARRED else None


def _entries(task: Task, said: Mapping[str, Any]) -> tuple[Entry, ...]:
    """One entry that is due when the next thing of the task is, and stands where that waits."""
    due = read_instant(said["next"])
    place, _, name = (said["waiting_for"] or "").partition(":")
    if place in ("", BARRED):
        return () if due is None else (Entry(task.id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner),)
    # Something that waits and leads to no run: only a deadline is like that.
    kind, at = (EntryKind.DEADLINE, task.created) if due is None else (EntryKind.WAITING, due)
    stand, lane = (Stand.PARKED, name) if place in _LANE_OR_NODE else (Stand.HELD, None)
    slot = slot_for(kind, Origin.SCHEDULED, at)
    return (Entry(task.id, slot, kind, at, at, task.owner, stand=stand, lane=lane),)


def _live(task: Task, number: int) -> tuple[Run, ...]:
    """So many, of which no more is known."""
    nothing_known = Run("", task.id, task.owner, Origin.SCHEDULED, task.created, task.created, 1, RunState.RUNNING)
    return (nothing_known,) * number
