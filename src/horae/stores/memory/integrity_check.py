"""Integrity check of the in-memory store: recomputes indexes and counters from the rows and reports differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...model.counts import STATE_PREFIX, total_owner
from ...model.task import TaskState
from ...schedule import After
from ..chains import contradicting_links, describe_link, find_row_problems
from .data import Data


def find_problems(data: Data) -> Iterator[str]:
    """Yield one sentence for each problem found."""
    yield from _check_orphans(data)
    yield from _check_labels(data)
    yield from _check_lane_slots(data)
    yield from _check_wakeups(data)
    yield from _check_active_tasks(data)
    yield from _check_counters(data)
    yield from _check_chains(data)
    yield from _check_streams(data)


def _check_streams(data: Data) -> Iterator[str]:
    tables = data.messages
    stored = Counter((owner, name) for owner, name, _ in tables.messages.all_keys())
    for owner, name in tables.streams.all_keys():
        stream, cursors, _ = tables.streams[owner, name]
        if stored[owner, name] != stream.stored:
            yield f"The stream {name} of {owner} counts other messages than it holds."
        for cursor in cursors:
            if cursor.number > stream.last:
                yield f"The reader {cursor.reader} of the stream {name} of {owner} is beyond its end."
    for owner, name in sorted(set(stored) - set(tables.streams.all_keys())):
        yield f"Messages belong to the stream {name} of {owner}, which is not there."


def _check_orphans(data: Data) -> Iterator[str]:
    for entry in data.entries:
        if entry.task_id not in data.tasks:
            yield f"The agenda entry {entry.slot} belongs to {entry.task_id}, which is not there."
    for run in data.runs:
        if run.task_id not in data.tasks:
            yield f"The run {run.id} belongs to {run.task_id}, which is not there."
    for task in data.tasks:
        if task.id not in data.statuses:
            yield f"The task {task.id} has no status."


def _check_labels(data: Data) -> Iterator[str]:
    expected = {(owner, label, task.id) for task in data.tasks for label in task.labels for owner in (None, task.owner)}
    for task_id in sorted({task_id for *_, task_id in expected ^ data.tasks.labels.all_rows()}):
        yield f"The task {task_id} is not found by the labels that it has."


def _check_lane_slots(data: Data) -> Iterator[str]:
    live_runs = Counter(lane for run in data.runs if run.live for lane in set(run.lanes))
    slots = Counter(data.runs.lane_slots.sizes())
    for lane in sorted(live_runs | slots):
        if live_runs[lane] != slots[lane]:
            yield f"The lane {lane} counts {slots[lane]} slots taken, but has {live_runs[lane]} live runs."


def _check_wakeups(data: Data) -> Iterator[str]:
    for lane in sorted(data.lane_rates.all_keys()):
        is_stuck = lane not in data.lane_wakeups and not data.entries.offered(lane) and data.entries.has_parked(lane)
        if is_stuck and data.slots_in_use(lane) < data.lane_limit(lane):
            yield f"Entries wait in the lane {lane} for its rate, and nothing will wake them."


def _check_active_tasks(data: Data) -> Iterator[str]:
    with_work = {entry.task_id for entry in data.entries} | {run.task_id for run in data.runs if run.live}
    for task in data.tasks:
        status = data.statuses.get(task.id)
        is_idle = status is not None and status.state is TaskState.ACTIVE and task.id not in with_work
        if is_idle and not isinstance(task.schedule, After):
            yield f"The task {task.id} is active, but nothing of it is queued or running."


def _check_chains(data: Data) -> Iterator[str]:
    states = {task.id: status.state for task in data.tasks if (status := data.statuses.get(task.id)) is not None}
    for predecessor, successor in contradicting_links((task, states.get(task.id)) for task in data.tasks):
        if predecessor in data.tasks:
            yield describe_link(predecessor, successor)
    for row in data.chain_rows:
        if row.task_id not in data.tasks:
            yield f"A chain row belongs to {row.task_id}, which is not there."
    yield from find_row_problems(data.chain_rows)


def _check_counters(data: Data) -> Iterator[str]:
    expected: Counter[tuple[str, str]] = Counter()
    for task in data.tasks:
        status = data.statuses.get(task.id)
        if status is not None:
            expected[task.owner, STATE_PREFIX + status.state] += 1
            expected[total_owner(task.owner), STATE_PREFIX + status.state] += 1
    counters = Counter(
        {
            (owner, name): data.counters[owner, hour, name]
            for owner, hour, name in data.counters.all_keys()
            if name.startswith(STATE_PREFIX)
        }
    )
    for owner, name in sorted(expected | counters):
        if expected[owner, name] != counters[owner, name]:
            actual, recorded = expected[owner, name], counters[owner, name]
            yield f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
