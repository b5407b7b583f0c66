"""End of an occurrence: failure count, `last_end`, and whether the task gives up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind
from ..model.events.event import EventKind
from ..model.limits import SUMMARY_CHARACTERS, shortened
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState
from ..model.task import GOING, Standing, TaskState
from ..schedule import Now, Once
from .entry_removal import account_for, occurrences_in
from .event_rows import task_event, told
from .failure_notices import noticed

_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


def end_occurrence(facts: Facts, ended: Run, now: datetime, *, poisoned: bool = False) -> Change:
    """End an occurrence with its last run; the task fails after `give_up_after` failures or if `poisoned`."""
    status = _status_after(facts.status, ended, now)
    change = Change(
        status=status,
        updated_runs=(ended,),
        dropped=deadline_slots(facts, ended),
        events=(told(ended, now), *noticed(facts, facts.task, status, now, _failure_reason(ended))),
    )
    if status.state is TaskState.FAILED and ended.state is RunState.SUCCEEDED and _is_one_shot(facts):
        return _complete_task(facts, change, status, now)
    if status.state not in GOING:
        return change
    if poisoned:
        return _give_up(facts, change, status, Reason.QUARANTINED, now)
    limit = facts.task.policies.give_up_after
    if limit is not None and status.failures >= limit and _counts_as_failure(ended):
        return _give_up(facts, change, status, _failure_reason(ended), now)
    return change


def may_continue(facts: Facts, run: Run) -> bool:
    """Return whether another attempt is allowed: scheduled runs need an open task, others one that is not cancelled."""
    if run.origin is Origin.SCHEDULED:
        return facts.status.state in GOING
    return facts.status.state is not TaskState.CANCELLED


def unheld(runs: Iterable[Run], reason: Reason, now: datetime) -> tuple[Run, ...]:
    """Return the waiting runs as cancelled: no node executes them, so no node can be asked to end them."""
    return tuple(
        run._replace(state=RunState.CANCELLED, reason=reason, ended=now, deadline=None)
        for run in runs
        if run.state is RunState.WAITING
    )


def deadline_slots(facts: Facts, run: Run) -> tuple[str, ...]:
    """Return the slots of the deadline entries of a run."""
    return tuple(entry.slot for entry in facts.entries if entry.run_id == run.id)


def summary(run: Run) -> str | None:
    """Return the truncated error or result that task lists show."""
    text = run.result_json if run.error is None else run.error
    return None if text is None else shortened(text, SUMMARY_CHARACTERS)


def _status_after(status: Standing, ended: Run, now: datetime) -> Standing:
    """Return the status after a run: a success resets consecutive failures, a failed scheduled occurrence adds one."""
    return status._replace(
        failures=0 if ended.state is RunState.SUCCEEDED else status.failures + _counts_as_failure(ended),
        last_end=now if ended.origin is Origin.SCHEDULED else status.last_end,
        last_result=summary(ended),
    )


def _is_one_shot(facts: Facts) -> bool:
    """Return whether the task fires only once: a success, also of a run on request, then completes it."""
    return isinstance(facts.task.schedule, Once | Now)


def _complete_task(facts: Facts, change: Change, status: Standing, now: datetime) -> Change:
    """Complete a failed one-shot task whose requested retry succeeded."""
    return change._replace(
        status=status._replace(state=TaskState.COMPLETED, reason=None, ended=now),
        events=(*change.events, task_event(EventKind.TASK_COMPLETED, facts.task, now)),
    )


def _failure_reason(ended: Run) -> Reason:
    return ended.reason or Reason.TARGET_FAILED


def _counts_as_failure(ended: Run) -> bool:
    return ended.origin is Origin.SCHEDULED and ended.state in _FAILURES


def _give_up(facts: Facts, change: Change, status: Standing, reason: Reason, now: datetime) -> Change:
    """Fail the task. Due occurrences are recorded, future ones removed; manual runs and backfills stay."""
    removed = tuple(entry for entry in facts.entries if _is_scheduled(entry))
    rows = account_for(facts, removed, reason if reason is Reason.QUARANTINED else Reason.CANCELLED, now)
    failed = task_event(EventKind.TASK_FAILED, facts.task, now, reason.value)
    counted = status.counted
    if facts.task.schedule.counting == "planned":
        counted += sum(occurrences_in(facts, entry, now) for entry in removed if entry.kind is EntryKind.NEXT)
    # A resume continues from here: a wall clock that went back must not set the schedule back.
    since = max([now, *(run.planned for run in (*change.updated_runs, *rows) if run.origin is Origin.SCHEDULED)])
    return change._replace(
        status=status._replace(state=TaskState.FAILED, counted=counted, reason=reason, ended=since, pause=None),
        new_runs=rows,
        dropped=(*change.dropped, *(entry.slot for entry in removed)),
        events=(*change.events, *(told(row, now) for row in rows), failed),
    )


def _is_scheduled(entry: Entry) -> bool:
    return entry.kind is EntryKind.RESUME or (entry.origin is Origin.SCHEDULED and entry.kind is not EntryKind.DEADLINE)
