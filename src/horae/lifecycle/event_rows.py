"""Constructors of skipped runs (of removed entries, too) and of events, and the failure alerts of a task."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from ..model.change import Facts
from ..model.entry import Entry, EntryKind
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState, Span
from ..model.task import Task, TaskStatus, past_of
from ..schedule import count
from .due_backlog import DueBacklog, compute_planned_backlog, without_repeat

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
        input=entry.input,
        chain=entry.chain,
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
    facts: Facts, task: Task, status: TaskStatus, now: datetime, ended: Run | None = None, reason: Reason | None = None
) -> tuple[Event, ...]:
    """Return the event, if any, of the transition to the new task and status: the two kinds alternate.

    An edit of the policy can begin or end an incident, too. A resume of a failed task ends it without an event of its
    own, because `task.resumed` says so. The event names the run that ended, if one caused the transition.
    """
    before, after = is_failing(facts.task, facts.status), is_failing(task, status)
    if before == after:
        return ()
    run_id = None if ended is None else ended.id
    if not after:
        return (task_event(EventKind.TASK_RECOVERED, task, now)._replace(run_id=run_id),)
    detail = None if reason is None else reason.value
    return (task_event(EventKind.TASK_FAILING, task, now, detail)._replace(run_id=run_id),)


def skip_rows(facts: Facts, entries: Iterable[Entry], reason: Reason, now: datetime) -> tuple[Run, ...]:
    """Return one skipped run per removed entry that covers a due occurrence: every occurrence has a row and a reason."""
    rows = (_skip_row(facts, entry, reason, now) for entry in entries)
    return tuple(row for row in rows if row is not None)


def count_occurrences(facts: Facts, entry: Entry, now: datetime) -> int:
    """Return the number of occurrences that an entry covers by now: one, a range, or the due backlog."""
    if entry.kind is EntryKind.NEXT:
        return 0 if entry.planned > now else _planned_backlog(facts, entry, now).size
    if entry.through is None:
        return 1
    past = past_of(facts.task, facts.status)
    return 1 + count(without_repeat(facts.task.schedule), entry.planned, entry.through, past)


def _skip_row(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run | None:
    match entry.kind:
        case EntryKind.NEXT if entry.planned <= now:
            is_paused = facts.status.pause is not None
            return skipped_run(
                facts.task, _planned_backlog(facts, entry, now).span, Reason.PAUSED if is_paused else reason, now
            )
        case EntryKind.WAITING if entry.through is not None:
            span = Span(entry.planned, entry.through, count_occurrences(facts, entry, now))
            return removed_entry_run(facts.task, entry._replace(planned=span.last, span=span), reason, now)
        case EntryKind.WAITING | EntryKind.RETRY | EntryKind.MANUAL | EntryKind.CHAIN:
            return removed_entry_run(facts.task, entry, reason, now)
        case EntryKind.NEXT | EntryKind.RESUME | EntryKind.DEADLINE | EntryKind.START_DEADLINE:
            return None
        case never:
            assert_never(never)


def _planned_backlog(facts: Facts, entry: Entry, now: datetime) -> DueBacklog:
    """Return the occurrences planned by now, including one that jitter makes due later: its instant has passed."""
    return compute_planned_backlog(facts.task, facts.status, entry.planned, now)
