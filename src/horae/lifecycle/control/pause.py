"""Pause and resume of a task: its entries sleep; the occurrences that passed are recorded or queued when they wake."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ...errors import Refusal
from ...model.change import Change, Facts
from ...model.entry import CONTROL_KINDS, RESUME_SLOT, Entry, EntryKind, EntryState
from ...model.events.event import EventKind
from ...model.limits import NOTE_CHARACTERS, shorten
from ...model.origin import AUTOMATIC
from ...model.pauses import PausedSpan, paused_span_write
from ...model.policy import Missed, MissedMode
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Pause, PauseCause, TaskState, TaskStatus
from ..agenda import next_entry
from ..conclude import conclude
from ..due_backlog import MICROSECOND, DueBacklog, compute_due_backlog, counts_from_end
from ..event_rows import run_event, skip_rows, task_event
from ..missed import CatchUpPlan, apply_requested_skips, plan_catch_up
from ..start_deadline import with_start_deadline


def pause_open_task(
    facts: Facts, now: datetime, cause: PauseCause, note: str = "", until: datetime | None = None
) -> Change:
    """Pause an open task: no run starts, live runs may end. Pausing a paused task changes its cause, note and end."""
    task, status = facts.task, facts.status
    since = now if status.pause is None else status.pause.since
    put = [e._replace(state=EntryState.ASLEEP, lane=None) for e in facts.entries if e.kind not in CONTROL_KINDS]
    if until is not None:
        put.append(Entry(task.id, RESUME_SLOT, EntryKind.RESUME, until, until, task.owner, task.policies.priority))
    paused = Pause(since, cause, shorten(note, NOTE_CHARACTERS), until)
    change = Change(
        status=status._replace(state=TaskState.PAUSED, pause=paused),
        put=tuple(put),
        dropped=() if until is not None else _resume_slots(facts),
        events=(task_event(EventKind.TASK_PAUSED, task, now, cause.value),),
    )
    return with_start_deadline(facts, change)


def _resume_slots(facts: Facts) -> tuple[str, ...]:
    return tuple(entry.slot for entry in facts.entries if entry.kind is EntryKind.RESUME)


class _Passed(NamedTuple):
    """Accounted occurrences that passed: skipped rows, queued entries and the next occurrence."""

    status: TaskStatus
    rows: tuple[Run, ...] = ()
    put: tuple[Entry, ...] = ()


def end_pause(facts: Facts, now: datetime, missed: MissedMode = "skip", until: datetime | None = None) -> Change:
    """End a pause. Occurrences that passed before its end are skipped as paused, or caught up as `missed` says."""
    end = until or now
    passed = [e for e in facts.entries if e.state is EntryState.ASLEEP and e.due < end and e.origin in AUTOMATIC]
    waiting = [entry for entry in passed if entry.kind is not EntryKind.NEXT]
    result = _Passed(facts.status._replace(state=TaskState.ACTIVE, pause=None))
    for entry in passed:
        if entry.kind is EntryKind.NEXT:
            backlog = compute_due_backlog(facts.task, result.status, entry.planned, end - MICROSECOND)
            result = _account_for_backlog(backlog, result.status, now, missed, Reason.PAUSED)
    if missed != "skip":
        change = _resume_change(facts, result, [entry for entry in passed if entry not in waiting], now)
        return change._replace(attached=_pause_records(facts, result.rows, end))
    rows = skip_rows(facts, waiting, Reason.PAUSED, now)
    return _resume_change(facts, result._replace(rows=(*rows, *result.rows)), passed, now)


def _pause_records(facts: Facts, rows: tuple[Run, ...], end: datetime) -> tuple[RecordWrite, ...]:
    """Return records that mark merged or skipped rows as caused by the pause, not by an outage."""
    pause = facts.status.pause
    paused_span = PausedSpan(end if pause is None else pause.since, end)
    return tuple(
        paused_span_write(row, paused_span) for row in rows if row.reason in (Reason.MERGED, Reason.MISSED_SKIPPED)
    )


def can_start_again(facts: Facts, now: datetime) -> bool:
    """Whether a task that has given up has anything left to resume; one that runs once has not."""
    try:
        restart_failed(facts, now)
    except Refusal:
        return False
    return True


def restart_failed(facts: Facts, now: datetime, missed: MissedMode = "skip") -> Change:
    """Restart a failed task: reset its failures and continue its schedule."""
    status = facts.status._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
    result = _Passed(status)
    if not counts_from_end(facts.task.schedule):
        following = next_entry(facts.task, status, facts.status.ended or now)
        if following is not None and following.due < now:
            backlog = compute_due_backlog(facts.task, status, following.planned, now - MICROSECOND)
            result = _account_for_backlog(backlog, status, now, missed, Reason.MISSED_SKIPPED)
        elif following is not None:
            result = _Passed(status, put=(following,))
    change = _resume_change(facts, result, [], now)
    if change.status is not None and change.status.state is TaskState.COMPLETED:
        raise refuse("task_over", id=facts.task.id, state=TaskState.FAILED.value, action="resume", action_zh="恢复")
    return change


def _account_for_backlog(
    backlog: DueBacklog, status: TaskStatus, now: datetime, mode: MissedMode, reason: Reason
) -> _Passed:
    """Account for a backlog: one skipped row, or the plan of the chosen mode without a `within` limit."""
    account = apply_requested_skips(status, backlog)
    plan = CatchUpPlan()
    if account.rest is not None and mode == "skip":
        plan = CatchUpPlan(((account.rest.span, reason),))
    elif account.rest is not None:
        policy = Missed(mode, None, backlog.task.policies.missed.limit)
        plan = plan_catch_up(policy, account.rest, now, account.remaining_repeats).with_all_queued
    counted = account.status_after(plan.accepted, backlog.size)
    queued = () if plan.to_queue is None else (account.queue_entry(plan.to_queue),)
    following = None if counts_from_end(backlog.task.schedule) else next_entry(backlog.task, counted, backlog.last)
    return _Passed(counted, account.rows(plan, now), queued if following is None else (following, *queued))


def _resume_change(facts: Facts, result: _Passed, removed: list[Entry], now: datetime) -> Change:
    put_slots = {entry.slot for entry in result.put}
    dropped = [*removed, *(entry for entry in facts.entries if entry.kind is EntryKind.RESUME)]
    change = Change(
        status=result.status,
        new_runs=result.rows,
        put=result.put,
        dropped=tuple(entry.slot for entry in dropped if entry.slot not in put_slots),
        events=(*(run_event(row, now) for row in result.rows), task_event(EventKind.TASK_RESUMED, facts.task, now)),
    )
    return conclude(facts, change, now)
