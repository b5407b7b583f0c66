"""A run's process died, or gave it back: it is lost, and its occurrence goes on somewhere else, or ends."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.reason import Reason
from ..model.run import Run, RunState
from .agenda import retry_entry
from .conclude import conclude
from .event_rows import told
from .occurrence_end import end_occurrence, may_continue

MOST_DEATHS: Final = 5
"""Alone in a child process a run cannot take its node down; if nodes still die under it, this is where it ends."""


def recover(facts: Facts, run: Run, now: datetime) -> Change:
    """Its node died. `lost` uses up no attempt; deaths are counted, so that a poisonous run is bounded."""
    deaths = 0 if run.state is RunState.CLAIMED else 1
    return _lost(facts, run, Reason.LEASE_LOST, now, deaths)


def release(facts: Facts, run: Run, now: datetime) -> Change:
    """Its node stops in good order and hands it back: recovery done early, and nobody died."""
    return _lost(facts, run, Reason.RELEASED, now, deaths=0)


def _lost(facts: Facts, run: Run, reason: Reason, now: datetime, deaths: int) -> Change:
    if run.cancel is not None:
        # It was asked to end, and it has.
        ended = run._replace(state=RunState.CANCELLED, reason=run.cancel, ended=now)
        return conclude(facts, end_occurrence(facts, ended, now), now)
    ended = run._replace(state=RunState.LOST, reason=reason, ended=now)
    poisoned = run.deaths + deaths >= MOST_DEATHS
    if poisoned or not _goes_on(facts, run):
        change = end_occurrence(facts, ended, now, poisoned=poisoned)
    else:
        retry = retry_entry(facts.task, facts.standing, run, now, forgiven=1, deaths=deaths)
        change = Change(moved=(ended,), put=(retry,), events=(told(ended, now),))
    return conclude(facts, change, now)


def _goes_on(facts: Facts, run: Run) -> bool:
    """Under `at_most_once` only what provably never started is queued again."""
    once_at_most = facts.task.policies.guarantee == "at_most_once"
    return may_continue(facts, run) and (run.state is RunState.CLAIMED or not once_at_most)
