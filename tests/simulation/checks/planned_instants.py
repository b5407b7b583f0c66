"""Naive list of planned instants, one by one, for each period in which a task had one schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, NamedTuple

from horae.model.events.event import EventKind
from horae.model.task import Task, TaskState
from horae.schedule import AnyOf, Every, Past, due, first, iterate
from tests.simulation.checks.task_history import TaskHistory

FAR: Final = timedelta(days=4)
_MICROSECOND: Final = timedelta(microseconds=1)
_OVER: Final = (TaskState.COMPLETED, TaskState.CANCELLED)


class Stretch(NamedTuple):
    """From one event to another the task followed one schedule; `closed` is when that ended, if it did.

    Pauses and failures are ignored here: resume decides about the instants that passed.
    """

    task: Task
    opened_by: int
    closed_by: int | None
    opened: datetime
    closed: datetime | None
    ended_as: TaskState | None
    from_creation: bool
    since: datetime | None = None
    """For a task that began elsewhere: the instant after which nothing is accounted for yet."""

    @property
    def begun(self) -> datetime:
        return self.opened if self.since is None else self.since


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
    if isinstance(task.schedule, AnyOf):
        return iter(sorted(set().union(*(planned_in(each, until) for each in _parts(stretch, task.schedule)))))
    schedule, past = replace(task.schedule, repeat=None), Past(task.created)
    if not stretch.from_creation:
        return iterate(schedule, stretch.opened, past, until=until)
    earliest = first(schedule, past)
    if earliest is None or earliest > until:
        return iter(())
    planned = chain((earliest,), iterate(schedule, earliest, past, until=until))
    return planned if stretch.since is None else (each for each in planned if each > stretch.since)


def _parts(stretch: Stretch, schedule: AnyOf) -> Iterator[Stretch]:
    """Each schedule of a list by itself, so that its instants do not depend on how a list is evaluated."""
    for part in schedule.parts:
        yield stretch._replace(task=stretch.task._replace(schedule=replace(part, end=schedule.end)))


def stretches(story: TaskHistory) -> Iterator[Stretch]:
    """A schedule leads to something from creation or an edit on, until another edit, or until the task is over."""
    open_since: tuple[int, datetime, bool] | None = None
    state: TaskState | None = None
    marks = {mark.number: mark.state for mark in story.marks}
    for number, event in story.events:
        state = marks.get(number, state)
        edited = event.kind is EventKind.TASK_EDITED and story.has_new_schedule(number)
        over = state in _OVER
        if open_since is not None and (edited or over):
            task = story.definition_before(number)
            ended_as = state if over else None
            yield _begun_elsewhere(
                Stretch(task, open_since[0], number, open_since[1], event.at, ended_as, open_since[2]), story
            )
            open_since = None
        if open_since is None and not over and (edited or event.kind is EventKind.TASK_CREATED):
            open_since = number, event.at, event.kind is EventKind.TASK_CREATED
    if open_since is not None:
        task = story.definitions[-1][1]
        yield _begun_elsewhere(Stretch(task, open_since[0], None, open_since[1], None, None, open_since[2]), story)


def _begun_elsewhere(stretch: Stretch, story: TaskHistory) -> Stretch:
    """Give a stretch the past that was requested with its task, whatever the task has stored of it."""
    past = story.past
    if past is None:
        return stretch
    task = stretch.task if past.created is None else stretch.task._replace(created=past.created)
    missed = stretch.opened if past.missed_since is None else past.missed_since - _MICROSECOND
    return stretch._replace(task=task, since=missed if stretch.from_creation else None)
