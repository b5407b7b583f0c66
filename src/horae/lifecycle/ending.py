"""An occurrence ends, one way or another: what it counts for, what was waiting for it, what comes next."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind
from ..model.event import Event, EventKind
from ..model.limits import SUMMARY_CHARACTERS, shortened
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState
from ..model.task import Standing, TaskState
from .agenda import next_entry
from .overlap import released
from .pile import counts_from_end
from .telling import task_event, told

DEADLINE_SLOT: Final = "deadline/"
_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


def end_occurrence(facts: Facts, run: Run, ended: Run, now: datetime, *, quarantine: bool = False) -> Change:
    """`ended` is the last run of its occurrence: there will be no other attempt."""
    standing = _after(facts, ended, now)
    if _goes_on(standing):
        if quarantine:
            return _give_up(facts, run, ended, standing, Reason.QUARANTINED, now)
        most = facts.task.policies.give_up_after
        if most is not None and standing.failures >= most and _counts(ended):
            return _give_up(facts, run, ended, standing, ended.reason, now)
    return _go_on(facts, run, ended, standing, now)


def others(facts: Facts, run: Run) -> tuple[Run, ...]:
    return tuple(other for other in facts.live if other.id != run.id)


def may_continue(facts: Facts, run: Run) -> bool:
    """Whether its task still wants another attempt: not when it is over, unless somebody asked for this run by hand."""
    if run.origin is Origin.SCHEDULED:
        return _goes_on(facts.standing)
    return facts.standing.state is not TaskState.CANCELLED


def deadline_slots(run: Run) -> tuple[str, ...]:
    """A run that somebody else held had a deadline on the agenda."""
    return (DEADLINE_SLOT + run.id,) if run.state is RunState.WAITING else ()


def summary(run: Run) -> str | None:
    """The few words that a list of tasks shows."""
    text = run.result if run.error is None else run.error
    return None if text is None else shortened(text, SUMMARY_CHARACTERS)


def _counts(ended: Run) -> bool:
    return ended.origin is Origin.SCHEDULED and ended.state in _FAILURES


def _after(facts: Facts, ended: Run, now: datetime) -> Standing:
    """A success resets the failures in a row, a failed scheduled occurrence adds one, all else does neither."""
    standing = facts.standing
    failures = standing.failures
    if ended.state is RunState.SUCCEEDED:
        failures = 0
    elif _counts(ended):
        failures += 1
    last_end = now if ended.origin is Origin.SCHEDULED else standing.last_end
    return standing._replace(failures=failures, last_end=last_end, last_result=summary(ended))


def _go_on(facts: Facts, run: Run, ended: Run, standing: Standing, now: datetime) -> Change:
    task = facts.task
    put = released(facts, others(facts, run))
    slots = deadline_slots(run)
    if counts_from_end(task.schedule) and ended.origin is Origin.SCHEDULED and _goes_on(standing):
        following = next_entry(task, standing, now)
        put = put if following is None else (following, *put)
    events: tuple[Event, ...] = (told(ended, now),)
    if not put and standing.state is TaskState.ACTIVE and _nothing_left(facts, run, slots):
        standing = standing._replace(state=TaskState.COMPLETED, ended=now)
        events = (*events, task_event(EventKind.TASK_COMPLETED, task, now))
    return Change(moved=(ended,), standing=standing, put=put, dropped=slots, events=events)


def _goes_on(standing: Standing) -> bool:
    return standing.state is TaskState.ACTIVE or standing.state is TaskState.PAUSED


def _nothing_left(facts: Facts, run: Run, gone: tuple[str, ...]) -> bool:
    return not others(facts, run) and all(entry.slot in gone for entry in facts.entries)


def _give_up(facts: Facts, run: Run, ended: Run, standing: Standing, reason: Reason | None, now: datetime) -> Change:
    """A person must look. What was still to come leaves the agenda; what somebody asked for by hand stays."""
    gone = tuple(entry.slot for entry in facts.entries if _scheduled(entry))
    failed = standing._replace(state=TaskState.FAILED, reason=reason, ended=now, pause=None)
    detail = None if reason is None else reason.value
    return Change(
        moved=(ended,),
        standing=failed,
        put=tuple(entry for entry in released(facts, others(facts, run)) if entry.slot not in gone),
        dropped=(*deadline_slots(run), *gone),
        events=(told(ended, now), task_event(EventKind.TASK_FAILED, facts.task, now, detail)),
    )


def _scheduled(entry: Entry) -> bool:
    return entry.kind is EntryKind.RESUME or (entry.origin is Origin.SCHEDULED and entry.kind is not EntryKind.DEADLINE)
