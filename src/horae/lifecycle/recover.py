"""Recovery of runs whose process died or released them: the run ends as `lost`, and its occurrence is queued again or ends."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.inputs.run_input import is_gate_check
from ..model.reason import Reason
from ..model.run import Run, RunState
from .agenda import retry_entry
from .conclude import conclude
from .event_rows import run_event
from .gate import end_gate_check
from .occurrence_end import end_occurrence, may_retry

MAX_DEATHS: Final = 5
"""Limit of process deaths per occurrence. An isolated run cannot kill its node; this bounds the case that nodes still die."""


def recover(facts: Facts, run: Run, now: datetime) -> Change:
    """Recover a run of a dead node. `lost` uses up no attempt; process deaths are counted to bound poison runs.

    A claimed run has called nothing that could kill its process, except for the gate of its task.
    """
    deaths = 0 if run.state is RunState.CLAIMED and facts.task.policies.gate is None else 1
    return _end_as_lost(facts, run, Reason.LEASE_LOST, now, deaths)


def release(facts: Facts, run: Run, now: datetime) -> Change:
    """Release a run of a node that shuts down gracefully: like `recover`, without counting a death."""
    return _end_as_lost(facts, run, Reason.RELEASED, now, deaths=0)


def _end_as_lost(facts: Facts, run: Run, reason: Reason, now: datetime, deaths: int) -> Change:
    if run.cancel is not None:
        # A cancellation was requested, so the run ends as cancelled.
        ended = run._replace(state=RunState.CANCELLED, reason=run.cancel, ended=now)
        return conclude(facts, end_occurrence(facts, ended, now), now)
    ended = run._replace(state=RunState.LOST, reason=reason, ended=now)
    if is_gate_check(run.input):
        # It is not repeated: the caller that requested the check can request another one.
        return end_gate_check(facts, ended, now)
    poisoned = run.deaths + deaths >= MAX_DEATHS
    if poisoned or not _is_requeued(facts, run):
        change = end_occurrence(facts, ended, now, poisoned=poisoned)
    else:
        retry = retry_entry(facts.task, facts.status, run, now, forgiven=1, deaths=deaths)
        change = Change(updated_runs=(ended,), put=(retry,), events=(run_event(ended, now),))
    return conclude(facts, change, now)


def _is_requeued(facts: Facts, run: Run) -> bool:
    """Return whether the occurrence is queued again; under `at_most_once` only if the run provably never started."""
    at_most_once = facts.task.policies.guarantee == "at_most_once"
    return may_retry(facts, run) and (run.state is RunState.CLAIMED or not at_most_once)
