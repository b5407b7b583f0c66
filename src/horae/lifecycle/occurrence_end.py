"""End of an occurrence: failure count, `last_end`, and whether the task gives up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind
from ..model.events.event import EventKind
from ..model.limits import SUMMARY_CHARACTERS, shorten
from ..model.origin import AUTOMATIC
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState
from ..model.task import OPEN_STATES, TaskState, TaskStatus
from ..schedule import Now, Once
from .event_rows import count_occurrences, failure_events, run_event, skip_rows, task_event

_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


def end_occurrence(facts: Facts, ended: Run, now: datetime, *, poisoned: bool = False) -> Change:
    """End an occurrence with its last run; the task fails after `give_up_after` failures or if `poisoned`."""
    status = _status_after(facts.status, ended, now)
    change = Change(
        status=status,
        updated_runs=(ended,),
        dropped=deadline_slots(facts, ended),
        events=(run_event(ended, now), *failure_events(facts, facts.task, status, now, ended, _failure_reason(ended))),
    )
    if status.state is TaskState.FAILED and ended.state is RunState.SUCCEEDED and _is_one_shot(facts):
        return _complete_task(facts, change, status, now)
    if status.state not in OPEN_STATES:
        return change
    if poisoned:
        return _give_up(facts, change, status, Reason.QUARANTINED, now)
    limit = facts.task.policies.give_up_after
    if limit is not None and status.failures >= limit and _counts_as_failure(ended):
        return _give_up(facts, change, status, _failure_reason(ended), now)
    return change


def may_retry(facts: Facts, run: Run) -> bool:
    """Return whether another attempt is allowed: scheduled runs need an open task, others one that is not cancelled."""
    if run.origin in AUTOMATIC:
        return facts.status.state in OPEN_STATES
    return facts.status.state is not TaskState.CANCELLED


def cancel_waiting_runs(runs: Iterable[Run], reason: Reason, now: datetime) -> tuple[Run, ...]:
    """Return the waiting runs as cancelled: no node executes them, so no node can be asked to end them."""
    return tuple(
        run._replace(state=RunState.CANCELLED, reason=reason, ended=now, deadline=None)
        for run in runs
        if run.state is RunState.WAITING
    )


def deadline_slots(facts: Facts, run: Run) -> tuple[str, ...]:
    """Return the slots of the deadline entries of a run."""
    return tuple(entry.slot for entry in facts.entries if entry.run_id == run.id)


def result_summary(run: Run) -> str | None:
    """Return the truncated error or result that task lists show."""
    text = run.result_json if run.error is None else run.error
    return None if text is None else shorten(text, SUMMARY_CHARACTERS)


def _status_after(status: TaskStatus, ended: Run, now: datetime) -> TaskStatus:
    """Return the status after a run: a success resets consecutive failures, a failed scheduled occurrence adds one."""
    return status._replace(
        failures=0 if ended.state is RunState.SUCCEEDED else status.failures + _counts_as_failure(ended),
        last_end=now if ended.origin in AUTOMATIC else status.last_end,
        last_result=result_summary(ended),
    )


def _is_one_shot(facts: Facts) -> bool:
    """Return whether the task fires only once: a success, also of a run on request, then completes it."""
    return isinstance(facts.task.schedule, Once | Now)


def _complete_task(facts: Facts, change: Change, status: TaskStatus, now: datetime) -> Change:
    """Complete a failed one-shot task whose requested retry succeeded."""
    return change._replace(
        status=status._replace(state=TaskState.COMPLETED, reason=None, ended=now),
        events=(*change.events, task_event(EventKind.TASK_COMPLETED, facts.task, now)),
    )


def _failure_reason(ended: Run) -> Reason:
    return ended.reason or Reason.TARGET_FAILED


def _counts_as_failure(ended: Run) -> bool:
    return ended.origin in AUTOMATIC and ended.state in _FAILURES


def _give_up(facts: Facts, change: Change, status: TaskStatus, reason: Reason, now: datetime) -> Change:
    """Fail the task. Due occurrences are recorded, future ones removed; manual runs and backfills stay."""
    removed = tuple(entry for entry in facts.entries if _is_scheduled(entry))
    rows = skip_rows(facts, removed, reason if reason is Reason.QUARANTINED else Reason.CANCELLED, now)
    failed = task_event(EventKind.TASK_FAILED, facts.task, now, reason.value)
    counted = status.counted
    if facts.task.schedule.counting == "planned":
        counted += sum(count_occurrences(facts, entry, now) for entry in removed if entry.kind is EntryKind.NEXT)
    # A resume continues from here: a wall clock that went back must not set the schedule back.
    since = max([now, *(run.planned for run in (*change.updated_runs, *rows) if run.origin is Origin.SCHEDULED)])
    return change._replace(
        status=status._replace(state=TaskState.FAILED, counted=counted, reason=reason, ended=since, pause=None),
        new_runs=rows,
        dropped=(*change.dropped, *(entry.slot for entry in removed)),
        events=(*change.events, *(run_event(row, now) for row in rows), failed),
    )


def _is_scheduled(entry: Entry) -> bool:
    return entry.kind is EntryKind.RESUME or (entry.origin in AUTOMATIC and entry.kind is not EntryKind.DEADLINE)
