"""What was planned, listed naively: one instant after the other, for each stretch of a task's life."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from ...model.event import EventKind
from ...model.task import Task, TaskState
from ...schedule import Every, Past, due, first, iterate
from .story import Story

FAR = timedelta(days=4)


class Stretch(NamedTuple):
    """From one event to another the task followed one schedule; `closed` is when that ended, if it did."""

    task: Task
    opened_by: int
    closed_by: int | None
    opened: datetime
    closed: datetime | None
    ended_as: TaskState | None
    from_creation: bool


def counts_from_end(task: Task) -> bool:
    return isinstance(task.schedule, Every) and task.schedule.since == "end"


def due_of(task: Task, planned: datetime) -> datetime:
    past = Past(task.created)
    if isinstance(task.schedule, Every) and counts_from_end(task):
        past = Past(task.created, last_end=planned - task.schedule.interval)
    return due(task.schedule, planned, task.id, past)


def planned_in(stretch: Stretch, until: datetime) -> Iterator[datetime]:
    """Every instant, as if there were no limit on repeats: skipped ones do not always count."""
    task = stretch.task
    schedule, past = replace(task.schedule, repeat=None), Past(task.created)
    if not stretch.from_creation:
        return iterate(schedule, stretch.opened, past, until=until)
    earliest = first(schedule, past)
    if earliest is None or earliest > until:
        return iter(())
    return chain((earliest,), iterate(schedule, earliest, past, until=until))


def stretches(story: Story) -> Iterator[Stretch]:
    """A schedule leads to something from creation, edit or a new start, until an edit, the end or a failure."""
    open_since: tuple[int, datetime, bool] | None = None
    state: TaskState | None = None
    marks = {mark.number: mark.state for mark in story.marks}
    for number, event in story.events:
        before, state = state, marks.get(number, state)
        edited = event.kind is EventKind.TASK_EDITED and story.has_new_schedule(number)
        over = state not in (TaskState.ACTIVE, TaskState.PAUSED)
        if open_since is not None and (edited or over):
            opened_by, opened, created = open_since
            task = story.definition_before(number)
            yield Stretch(task, opened_by, number, opened, event.at, state if over else None, created)
            open_since = None
        woken = before is not None and before not in (TaskState.ACTIVE, TaskState.PAUSED)
        if open_since is None and not over and (edited or woken or event.kind is EventKind.TASK_CREATED):
            open_since = number, event.at, event.kind is EventKind.TASK_CREATED
    if open_since is not None:
        opened_by, opened, created = open_since
        task = story.definitions[-1][1]
        yield Stretch(task, opened_by, None, opened, None, None, created)
