"""Constructors of skipped runs and of events, and the failure alerts: `task.failing` and `task.recovered`, once each."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Facts
from ..model.entry import Entry
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState, Span
from ..model.task import Task, TaskStatus

_EVENT_KINDS = {
    RunState.SUCCEEDED: EventKind.RUN_SUCCEEDED,
    RunState.FAILED: EventKind.RUN_FAILED,
    RunState.TIMED_OUT: EventKind.RUN_TIMED_OUT,
    RunState.LOST: EventKind.RUN_LOST,
    RunState.CANCELLED: EventKind.RUN_CANCELLED,
    RunState.SKIPPED: EventKind.RUN_SKIPPED,
    RunState.WAITING: EventKind.RUN_WAITING,
}


def skipped_run(task: Task, span: Span, reason: Reason, now: datetime) -> Run:
    """Return one skipped run for a span of scheduled occurrences."""
    return Run(
        id=run_id(task.id, Origin.SCHEDULED, span.last, 1),
        task_id=task.id,
        owner=task.owner,
        origin=Origin.SCHEDULED,
        planned=span.last,
        due=span.last,
        attempt=1,
        state=RunState.SKIPPED,
        reason=reason,
        ended=now,
        span=span if span.count > 1 else None,
    )


def removed_entry_run(task: Task, entry: Entry, reason: Reason, now: datetime) -> Run:
    """Return the skipped run of a waiting, retry or manual entry that is removed without a run."""
    return Run(
        id=run_id(task.id, entry.origin, entry.planned, entry.attempt),
        task_id=task.id,
        owner=task.owner,
        origin=entry.origin,
        planned=entry.planned,
        due=entry.due,
        attempt=entry.attempt,
        state=RunState.SKIPPED,
        reason=reason,
        ended=now,
        span=entry.span,
        forgiven=entry.forgiven,
        deaths=entry.deaths,
    )


def run_event(run: Run, at: datetime) -> Event:
    """Return the event of a run's new state."""
    detail = None if run.reason is None else run.reason.value
    return Event(_EVENT_KINDS[run.state], at, run.owner, run.task_id, run.id, detail)


def task_event(kind: EventKind, task: Task, at: datetime, detail: str | None = None) -> Event:
    return Event(kind, at, task.owner, task.id, None, detail)


def is_failing(task: Task, status: TaskStatus) -> bool:
    """Return whether the consecutive failures have reached `notify_after`."""
    return 0 < task.policies.notify_after <= status.failures


def failure_events(
    facts: Facts, task: Task, status: TaskStatus, now: datetime, reason: Reason | None = None
) -> tuple[Event, ...]:
    """Return the event, if any, of the transition to the new task and status: the two kinds alternate.

    An edit of the policy can begin or end an incident, too. A resume of a failed task ends it without an event of its
    own, because `task.resumed` says so.
    """
    before, after = is_failing(facts.task, facts.status), is_failing(task, status)
    if before == after:
        return ()
    if not after:
        return (task_event(EventKind.TASK_RECOVERED, task, now),)
    return (task_event(EventKind.TASK_FAILING, task, now, None if reason is None else reason.value),)
