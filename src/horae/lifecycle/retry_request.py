"""Manual retry: another attempt at an occurrence that failed, timed out, was lost or was cancelled."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..errors import Refusal
from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import TaskState
from .agenda import retry_entry

_RETRYABLE: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


def request_retry(facts: Facts, last: Run, now: datetime) -> Change:
    """Queue another attempt with the same idempotency key; `last` is the last run of the occurrence.

    A waiting retry becomes due now. A run that succeeded or never started is refused, as is a live one.
    """
    if facts.status.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    for run in (*facts.live, *((last,) if last.live else ())):
        # Another attempt may have started since `last` was read.
        if (run.origin, run.planned) == (last.origin, last.planned):
            raise refuse("run_going", id=run.id)
    if facts.status.state is TaskState.PAUSED:
        raise refuse("task_paused", id=facts.task.id)
    waiting = _find_waiting_retry(facts, last)
    if waiting is not None:
        return Change(put=(waiting._replace(due=now),) if waiting.due > now else ())
    if last.state not in _RETRYABLE and not _is_unused_attempt(last):
        raise nothing_to_retry(last)
    entry = retry_entry(facts.task, facts.status, last, now)
    # All attempts so far are forgiven. While the task is open, the full number of attempts is available again;
    # a task that has ended gets this one attempt.
    return Change(put=(entry._replace(forgiven=last.attempt, deaths=0),))


def nothing_to_retry(last: Run) -> Refusal:
    planned = last.planned.isoformat().replace("+00:00", "Z")
    return refuse("nothing_to_retry", state=last.state.value, task=last.task_id, planned=planned)


def _is_unused_attempt(last: Run) -> bool:
    """Return whether a further attempt was skipped before it began: the attempt before it is the one that failed."""
    return last.state is RunState.SKIPPED and last.started is None and last.attempt > 1


def _find_waiting_retry(facts: Facts, last: Run) -> Entry | None:
    for entry in facts.entries:
        is_same = (entry.origin, entry.planned) == (last.origin, last.planned)
        if is_same and entry.kind is EntryKind.RETRY and entry.state is EntryState.TIMED:
            return entry
    return None
