"""Undo of a cancel: the task is active or paused again with its next instant after now, because no decision fires retroactively."""

from __future__ import annotations

from datetime import datetime

from ...model.accounts.pause_change import PauseChange, pause_change
from ...model.change import Change, Facts, combine_decisions
from ...model.events.event import EventKind
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Pause, TaskState, TaskStatus
from ...schedule import After, Schedule
from ..agenda import next_entry
from ..conclude import conclude, has_open_occurrence
from ..due_backlog import compute_planned_backlog, counts_from_end
from ..event_rows import run_event, skipped_run, task_event
from .pause import pause_open_task


def can_restore(schedule: Schedule, state: TaskState) -> bool:
    """Return whether a cancel of this task could be undone: it is open, and does not run after others."""
    return state in (TaskState.ACTIVE, TaskState.PAUSED) and not isinstance(schedule, After)


def restorable_change(operation: str, facts: Facts, change: Change) -> PauseChange | None:
    """Return the change of a pause, or the cancel, that can be undone; None for any other change, and a final cancel."""
    changed = pause_change(operation, facts, change)
    if changed is not None and changed.cancelled is not None:
        return changed if can_restore(facts.task.schedule, facts.status.state) else None
    return changed


def restore_cancelled(facts: Facts, before: Pause | None, cancelled: datetime, now: datetime) -> Change:
    """Take back the cancel of this instant: id, history, counts and the pause `before` are those of the task.

    Occurrences that passed meanwhile are recorded as cancelled. Runs and requests that the cancel ended stay ended.
    Refused if the task was changed since, or has nothing left to do. The links of a task that runs after others were
    removed by the cancel, and what they stood for may be gone: its cancel is final.
    """
    task, status = facts.task, facts.status
    if isinstance(task.schedule, After):
        raise refuse("task_cancelled")
    if status.state is not TaskState.CANCELLED or status.ended != cancelled:
        raise refuse("changed_since", id=task.id)
    status = status._replace(state=TaskState.ACTIVE, reason=None, ended=None)
    from_end = counts_from_end(task.schedule)
    following = next_entry(task, status, (status.last_end or task.created) if from_end else cancelled)
    rows: tuple[Run, ...] = ()
    if following is not None and following.planned <= now:
        if following.planned > cancelled:
            backlog = compute_planned_backlog(task, status, following.planned, now)
            rows = (skipped_run(task, backlog.span, Reason.CANCELLED, now),)
            if task.schedule.counting == "planned":
                status = status._replace(counted=status.counted + backlog.size)
        following = None if from_end else next_entry(task, status, now)
    if from_end and has_open_occurrence(facts):
        following = None  # the end of the live run plans it
    change = Change(
        status=status,
        new_runs=rows,
        put=() if following is None else (following,),
        events=(*(run_event(row, now) for row in rows), task_event(EventKind.TASK_RESUMED, task, now)),
    )
    change = conclude(facts, change, now)
    if (change.status or status).state is TaskState.COMPLETED:
        raise refuse("nothing_to_restore", name=task.name, id=task.id)
    if before is None or (before.until is not None and before.until <= now):
        return change
    return combine_decisions(facts, change, lambda after: _pause_again(after, before, now))


def _pause_again(facts: Facts, before: Pause, now: datetime) -> Change:
    change = pause_open_task(facts, now, before.cause, before.note, before.until)
    status: TaskStatus = change.status or facts.status
    return change._replace(status=status._replace(pause=before))
