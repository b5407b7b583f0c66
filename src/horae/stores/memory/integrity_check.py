"""Everything that could be wrong with the data, looked for without trusting any index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...model.counts import EVERYBODY, STATE
from ...model.task import TaskState
from .data import Data


def doubts(data: Data) -> Iterator[str]:
    yield from _orphans(data)
    yield from _labels(data)
    yield from _seats(data)
    yield from _forgotten_tasks(data)
    yield from _counts(data)


def _orphans(data: Data) -> Iterator[str]:
    for entry in data.entries:
        if entry.task_id not in data.tasks:
            yield f"The agenda entry {entry.slot} belongs to {entry.task_id}, which is not there."
    for run in data.runs:
        if run.task_id not in data.tasks:
            yield f"The run {run.id} belongs to {run.task_id}, which is not there."
    for task in data.tasks:
        if task.id not in data.standings:
            yield f"The task {task.id} has no standing."


def _labels(data: Data) -> Iterator[str]:
    there = {(owner, label, task.id) for task in data.tasks for label in task.labels for owner in (None, task.owner)}
    for task_id in sorted({task_id for *_, task_id in there ^ data.tasks.labels.all_told()}):
        yield f"The task {task_id} is not found by the labels that it has."


def _seats(data: Data) -> Iterator[str]:
    sitting = Counter(lane for run in data.runs if run.live for lane in set(run.lanes))
    taken = Counter(data.runs.seats.sizes())
    for lane in sorted(sitting | taken):
        if sitting[lane] != taken[lane]:
            yield f"The lane {lane} counts {taken[lane]} seats taken, but {sitting[lane]} live runs sit in it."


def _forgotten_tasks(data: Data) -> Iterator[str]:
    cared_for = {entry.task_id for entry in data.entries} | {run.task_id for run in data.runs if run.live}
    for task in data.tasks:
        standing = data.standings.get(task.id)
        if standing is not None and standing.state is TaskState.ACTIVE and task.id not in cared_for:
            yield f"The task {task.id} is active, but nothing of it is queued or running."


def _counts(data: Data) -> Iterator[str]:
    there: Counter[tuple[str, str]] = Counter()
    for task in data.tasks:
        standing = data.standings.get(task.id)
        if standing is not None:
            there[task.owner, STATE + standing.state] += 1
            there[EVERYBODY, STATE + standing.state] += 1
    told = Counter(
        {
            (who, name): data.tallies[who, hour, name]
            for who, hour, name in data.tallies.all_keys()
            if name.startswith(STATE)
        }
    )
    for owner, name in sorted(there | told):
        if there[owner, name] != told[owner, name]:
            found, counted = there[owner, name], told[owner, name]
            yield f"{counted} tasks of {owner or 'all owners'} are counted as {name}, but there are {found}."
