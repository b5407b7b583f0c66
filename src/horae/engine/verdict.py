"""Outcomes of runs that were asked to end, and of targets that raised or returned no outcome."""

from __future__ import annotations

from typing import Final, get_args

from ..model.limits import ERROR_CHARACTERS, shorten
from ..model.outcome import Cancelled, Failed, Outcome, Succeeded, TimedOut, Waiting
from ..model.reason import Reason
from .active_run import ActiveRun

OUTCOMES: Final = frozenset(get_args(Outcome))


def error_outcome(error: BaseException) -> Outcome:
    try:
        return Failed(shorten(f"{type(error).__name__}: {error}", ERROR_CHARACTERS))
    except BaseException:  # noqa: BLE001 - str() of a foreign exception may raise anything
        return Failed(f"{type(error).__name__}, which cannot be told")


def unknown_target_outcome(kind: str) -> Outcome:
    return Failed(f"no target of kind '{kind}'", reason=Reason.TARGET_UNKNOWN)


def invalid_outcome(answer: object) -> Outcome:
    return Failed(f"the target answered with {type(answer).__name__}, which is no outcome")


def cancelled_outcome(active: ActiveRun) -> Outcome:
    """Return the outcome of a run whose target was cancelled."""
    if active.end_reason is Reason.DEADLINE:
        return TimedOut(_timeout_text(active))
    if active.end_reason is None:
        return Failed("the function cancelled itself")
    return Cancelled()


def late_outcome(active: ActiveRun, outcome: Outcome) -> Outcome:
    """Return the outcome of a run that answered after it was asked to end: a result counts, an error becomes the timeout."""
    if active.end_reason is not Reason.DEADLINE or isinstance(outcome, Succeeded | Waiting):
        return outcome
    return TimedOut(outcome.error if isinstance(outcome, Failed) else _timeout_text(active))


def _timeout_text(active: ActiveRun) -> str:
    policies = active.task.policies
    silent_until = active.last_heartbeat + policies.timeout.total_seconds()
    if policies.max_duration is not None and active.deadline_at < silent_until:
        return f"not over after {policies.max_duration.total_seconds():g} s"
    return f"silent for {policies.timeout.total_seconds():g} s"
