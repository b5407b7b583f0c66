"""Agenda entries as decisions make them: the next occurrence, and what waits for its turn."""

from __future__ import annotations

from datetime import datetime

from ..model.entry import NEXT_SLOT, Entry, EntryKind, Stand, slot_for
from ..model.run import Origin, Run, Span
from ..model.task import Standing, Task, TaskState, past_of
from ..schedule import due, next  # noqa: A004 - the product's own question


def next_entry(task: Task, standing: Standing, after: datetime) -> Entry | None:
    """The first occurrence after an instant; None when the schedule has no more."""
    past = past_of(task, standing)
    planned = next(task.schedule, after, past)
    return None if planned is None else entry_at(task, standing, planned)


def entry_at(task: Task, standing: Standing, planned: datetime) -> Entry:
    punctual = task.schedule.jitter is None
    return Entry(
        task.id,
        NEXT_SLOT,
        EntryKind.NEXT,
        planned if punctual else due(task.schedule, planned, task.id, past_of(task, standing)),
        planned,
        task.owner,
        task.policies.priority,
        resting(standing),
    )


def waiting_entry(  # noqa: PLR0913 - one row, field by field
    task: Task,
    planned: datetime,
    at: datetime,
    *,
    origin: Origin = Origin.SCHEDULED,
    through: datetime | None = None,
    span: Span | None = None,
    in_order: bool,
) -> Entry:
    """Occurrences that start one by one, each when nothing of the task is going. They begin held."""
    return Entry(
        task_id=task.id,
        slot=slot_for(EntryKind.WAITING, origin, planned),
        kind=EntryKind.WAITING,
        due=at,
        planned=planned,
        owner=task.owner,
        priority=task.policies.priority,
        stand=Stand.HELD,
        origin=origin,
        through=None if through == planned else through,
        span=span,
        in_order=in_order,
    )


def retry_entry(task: Task, standing: Standing, run: Run, at: datetime, *, forgiven: int = 0, deaths: int = 0) -> Entry:
    """The same occurrence once more. `forgiven` and `deaths` are what this attempt adds to them."""
    return Entry(
        task_id=task.id,
        slot=slot_for(EntryKind.RETRY, run.origin, run.planned),
        kind=EntryKind.RETRY,
        due=at,
        planned=run.planned,
        owner=task.owner,
        priority=task.policies.priority,
        stand=Stand.TIMED if run.origin is Origin.MANUAL else resting(standing),
        origin=run.origin,
        attempt=run.attempt + 1,
        forgiven=run.forgiven + forgiven,
        deaths=run.deaths + deaths,
        span=run.span,
        in_order=run.in_order,
    )


def resting(standing: Standing) -> Stand:
    """What a paused task puts on its agenda sleeps until it is resumed, unless somebody asks for it by hand."""
    return Stand.ASLEEP if standing.state is TaskState.PAUSED else Stand.TIMED
