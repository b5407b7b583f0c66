"""Constructors of agenda entries: next occurrence, waiting occurrences, retry."""

from __future__ import annotations

from datetime import datetime

from ..model.entry import NEXT_SLOT, Entry, EntryKind, EntryState, slot_for
from ..model.run import Origin, Run, Span
from ..model.task import Task, TaskState, TaskStatus, past_of
from ..schedule import due, next  # noqa: A004 - next occurrence, not the builtin


def next_entry(task: Task, status: TaskStatus, after: datetime) -> Entry | None:
    """Return the entry of the first occurrence after an instant; None when the schedule has no more."""
    past = past_of(task, status)
    planned = next(task.schedule, after, past)
    return None if planned is None else entry_at(task, status, planned)


def entry_at(task: Task, status: TaskStatus, planned: datetime) -> Entry:
    """Return the entry of the occurrence planned at `planned`; jitter moves only its due instant."""
    has_jitter = task.schedule.jitter is not None
    return Entry(
        task.id,
        NEXT_SLOT,
        EntryKind.NEXT,
        due(task.schedule, planned, task.id, past_of(task, status)) if has_jitter else planned,
        planned,
        task.owner,
        task.policies.priority,
        initial_entry_state(status),
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
    """Return a held entry for occurrences that start one by one, each when the task has no live run."""
    return Entry(
        task_id=task.id,
        slot=slot_for(EntryKind.WAITING, origin, planned),
        kind=EntryKind.WAITING,
        due=at,
        planned=planned,
        owner=task.owner,
        priority=task.policies.priority,
        state=EntryState.HELD,
        origin=origin,
        through=None if through == planned else through,
        span=span,
        in_order=in_order,
    )


def retry_entry(task: Task, status: TaskStatus, run: Run, at: datetime, *, forgiven: int = 0, deaths: int = 0) -> Entry:
    """Return the entry of the next attempt. `forgiven` and `deaths` are added to those of the run."""
    return Entry(
        task_id=task.id,
        slot=slot_for(EntryKind.RETRY, run.origin, run.planned),
        kind=EntryKind.RETRY,
        due=at,
        planned=run.planned,
        owner=task.owner,
        priority=task.policies.priority,
        state=EntryState.TIMED if run.origin is Origin.MANUAL else initial_entry_state(status),
        origin=run.origin,
        attempt=run.attempt + 1,
        forgiven=run.forgiven + forgiven,
        deaths=run.deaths + deaths,
        span=run.span,
        in_order=run.in_order,
        input=run.input,
        chain=run.chain,
    )


def initial_entry_state(status: TaskStatus) -> EntryState:
    """Return the state of a new entry: asleep while the task is paused. Manual entries do not use this, they run anyway."""
    return EntryState.ASLEEP if status.state is TaskState.PAUSED else EntryState.TIMED
