"""An occurrence ends, one way or another: what it counts for, and whether its task gives up."""

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
    """`ended` is the last run of its occurrence: there will be no other attempt."""
    standing = _after(facts.standing, ended, now)
    change = Change(
        standing=standing,
        moved=(ended,),
        dropped=deadline_slots(facts, ended),
        events=(told(ended, now), *noticed(facts, facts.task, standing, now, _why(ended))),
    )
    if standing.state is TaskState.FAILED and ended.state is RunState.SUCCEEDED and _was_all(facts):
        return _done_after_all(facts, change, standing, now)
    if standing.state not in GOING:
        return change
    if poisoned:
        return _give_up(facts, change, standing, Reason.QUARANTINED, now)
    most = facts.task.policies.give_up_after
    if most is not None and standing.failures >= most and _counts(ended):
        return _give_up(facts, change, standing, _why(ended), now)
    return change


def may_continue(facts: Facts, run: Run) -> bool:
    """Whether its task still wants another attempt: not when it is over, unless somebody asked for this run by hand."""
    if run.origin is Origin.SCHEDULED:
        return facts.standing.state in GOING
    return facts.standing.state is not TaskState.CANCELLED


def unheld(runs: Iterable[Run], reason: Reason, now: datetime) -> tuple[Run, ...]:
    """Those of the runs that no node holds, ended: nobody can be asked to end them."""
    return tuple(
        run._replace(state=RunState.CANCELLED, reason=reason, ended=now, deadline=None)
        for run in runs
        if run.state is RunState.WAITING
    )


def deadline_slots(facts: Facts, run: Run) -> tuple[str, ...]:
    """A run that somebody else held had a deadline on the agenda."""
    return tuple(entry.slot for entry in facts.entries if entry.run_id == run.id)


def summary(run: Run) -> str | None:
    """The few words that a list of tasks shows."""
    text = run.result_json if run.error is None else run.error
    return None if text is None else shortened(text, SUMMARY_CHARACTERS)


def _after(standing: Standing, ended: Run, now: datetime) -> Standing:
    """A success resets the failures in a row, a failed scheduled occurrence adds one, all else does neither."""
    return standing._replace(
        failures=0 if ended.state is RunState.SUCCEEDED else standing.failures + _counts(ended),
        last_end=now if ended.origin is Origin.SCHEDULED else standing.last_end,
        last_result=summary(ended),
    )


def _was_all(facts: Facts) -> bool:
    """Whether one occurrence is all that the task has to do: a success, also of a run on request, then completes it."""
    return isinstance(facts.task.schedule, Once | Now)


def _done_after_all(facts: Facts, change: Change, standing: Standing, now: datetime) -> Change:
    """Somebody has looked, had it tried again, and it worked: nobody need look any more."""
    return change._replace(
        standing=standing._replace(state=TaskState.COMPLETED, reason=None, ended=now),
        events=(*change.events, task_event(EventKind.TASK_COMPLETED, facts.task, now)),
    )


def _why(ended: Run) -> Reason:
    return ended.reason or Reason.TARGET_FAILED


def _counts(ended: Run) -> bool:
    return ended.origin is Origin.SCHEDULED and ended.state in _FAILURES


def _give_up(facts: Facts, change: Change, standing: Standing, reason: Reason, now: datetime) -> Change:
    """A person must look. What was due is recorded, what was still to come is not; what somebody asked for stays."""
    gone = tuple(entry for entry in facts.entries if _of_the_schedule(entry))
    rows = account_for(facts, gone, reason if reason is Reason.QUARANTINED else Reason.CANCELLED, now)
    failed = task_event(EventKind.TASK_FAILED, facts.task, now, reason.value)
    counted = standing.counted
    if facts.task.schedule.counting == "planned":
        counted += sum(occurrences_in(facts, entry, now) for entry in gone if entry.kind is EntryKind.NEXT)
    # Whoever resumes it goes on from there: a wall clock that went back must not lead the schedule back.
    since = max([now, *(run.planned for run in (*change.moved, *rows) if run.origin is Origin.SCHEDULED)])
    return change._replace(
        standing=standing._replace(state=TaskState.FAILED, counted=counted, reason=reason, ended=since, pause=None),
        born=rows,
        dropped=(*change.dropped, *(entry.slot for entry in gone)),
        events=(*change.events, *(told(row, now) for row in rows), failed),
    )


def _of_the_schedule(entry: Entry) -> bool:
    return entry.kind is EntryKind.RESUME or (entry.origin is Origin.SCHEDULED and entry.kind is not EntryKind.DEADLINE)
