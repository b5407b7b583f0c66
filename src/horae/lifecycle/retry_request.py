"""Somebody wants an occurrence that has ended badly to be attempted once more."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..errors import Refusal
from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import TaskState
from .agenda import retry_entry

_AGAIN: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


def try_again(facts: Facts, last: Run, now: datetime) -> Change:
    """`last` is the last run of the occurrence. It is tried anew, with the same key and all attempts before it; an
    attempt that waits for its time comes now. What succeeded, or never began, has nothing to be tried again."""
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    for run in (*facts.live, *((last,) if last.live else ())):
        # Another attempt may have started since `last` was read.
        if (run.origin, run.planned) == (last.origin, last.planned):
            raise refuse("run_going", id=run.id)
    if facts.standing.state is TaskState.PAUSED:
        raise refuse("task_paused", id=facts.task.id)
    waiting = _waiting(facts, last)
    if waiting is not None:
        return Change(put=(waiting._replace(due=now),) if waiting.due > now else ())
    if last.state not in _AGAIN and not _is_unused_attempt(last):
        raise nothing_to_retry(last)
    entry = retry_entry(facts.task, facts.standing, last, now)
    # All attempts so far are forgiven: whoever asks has looked. While the task goes on it may be tried as often as at
    # first; one that is over gets this one attempt.
    return Change(put=(entry._replace(forgiven=last.attempt, deaths=0),))


def nothing_to_retry(last: Run) -> Refusal:
    planned = last.planned.isoformat().replace("+00:00", "Z")
    return refuse("nothing_to_retry", state=last.state.value, task=last.task_id, planned=planned)


def _is_unused_attempt(last: Run) -> bool:
    """A further attempt that was skipped before it began: the attempt before it is the one that ended badly."""
    return last.state is RunState.SKIPPED and last.started is None and last.attempt > 1


def _waiting(facts: Facts, last: Run) -> Entry | None:
    for entry in facts.entries:
        same = (entry.origin, entry.planned) == (last.origin, last.planned)
        if same and entry.kind is EntryKind.RETRY and entry.stand is Stand.TIMED:
            return entry
    return None
