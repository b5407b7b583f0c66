"""Factories for tests: tasks, entries, runs, nodes and events with defaults for every field."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

from ..model.change import Change
from ..model.entry import NEXT_SLOT, Entry, EntryKind, slot_for
from ..model.events.event import Event, EventKind
from ..model.ids import ENTROPY_BYTES, make_id, run_id
from ..model.lanes.node_labels import LabelPairs
from ..model.outcome import Outcome, Settlement, Succeeded
from ..model.policy import Policies
from ..model.run import Origin, Run, RunState
from ..model.task import NEW_TASK_STATUS, Target, Task, TaskStatus
from ..ports.store import Node
from ..schedule import Every

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)

OWNER: Final = "ada"
NODE: Final = "node-1"

_numbers = count(1)


def a_task(*, priority: int = 0, where: LabelPairs = (), lanes: tuple[str, ...] = (), **fields: Any) -> Task:
    """A task with a new id, higher than those of the tasks before it."""
    task = Task(
        id=make_id("tsk", NOON, next(_numbers).to_bytes(ENTROPY_BYTES)),
        owner=OWNER,
        name="water the plants",
        schedule=Every(interval=HOUR),
        target=Target("function", '{"name":"garden.water"}'),
        payload="{}",
        policies=Policies(priority=priority, where=where, lanes=lanes),
        created=NOON,
    )
    return task._replace(**fields)


def an_entry(task: Task, *, due: datetime = NOON, **fields: Any) -> Entry:
    """The task's next occurrence, unless `fields` overrides it."""
    entry = Entry(task.id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner, task.policies.priority)
    return entry._replace(**fields)


def an_extra_entry(task: Task, *, due: datetime = NOON, **fields: Any) -> Entry:
    """A manual entry: a task may have many of them besides its next occurrence."""
    slot = slot_for(EntryKind.MANUAL, Origin.MANUAL, due)
    return an_entry(task, due=due, slot=slot, kind=EntryKind.MANUAL, origin=Origin.MANUAL)._replace(**fields)


def a_run(task: Task, *, planned: datetime = NOON, attempt: int = 1, **fields: Any) -> Run:
    """A live run on the usual node, with the id that follows from its occurrence and attempt."""
    origin = fields.pop("origin", Origin.SCHEDULED)
    run = Run(
        id=run_id(task.id, origin, planned, attempt),
        task_id=task.id,
        owner=task.owner,
        origin=origin,
        planned=planned,
        due=planned,
        attempt=attempt,
        state=RunState.RUNNING,
        token=1,
        node=NODE,
        claimed=planned,
        started=planned,
    )
    return run._replace(**fields)


def an_ended_run(task: Task, *, planned: datetime = NOON, attempt: int = 1, **fields: Any) -> Run:
    """A run that succeeded a second after its planned instant."""
    ended = {"state": RunState.SUCCEEDED, "ended": planned + SECOND}
    return a_run(task, planned=planned, attempt=attempt, **{**ended, **fields})


def a_node(name: str = NODE, **fields: Any) -> Node:
    return Node(id=name, home="machine/1", version="1.0", joined=NOON, renewed=NOON)._replace(**fields)


def an_event(task: Task, **fields: Any) -> Event:
    return Event(EventKind.TASK_EDITED, NOON, task.owner, task.id)._replace(**fields)


def a_new_task(
    task: Task,
    *,
    entries: Iterable[Entry] | None = None,
    status: TaskStatus = NEW_TASK_STATUS,
    runs: Iterable[Run] = (),
) -> Change:
    """The change that adds a task, with its next occurrence at noon unless `entries` are given."""
    put = (an_entry(task),) if entries is None else tuple(entries)
    created = Event(EventKind.TASK_CREATED, task.created, task.owner, task.id)
    return Change(task=task, status=status, put=put, new_runs=tuple(runs), events=(created,))


def a_settlement(run: Run, *, outcome: Outcome | None = None, **fields: Any) -> Settlement:
    """A settlement with success, a second after noon."""
    report = Settlement(run.id, run.token, Succeeded('"done"'), run.started, NOON + SECOND)
    return report._replace(outcome=outcome or report.outcome)._replace(**fields)
