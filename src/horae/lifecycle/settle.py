"""Settlement of a run: its final row, then a retry, a wait for an external answer, or the end of the occurrence."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from ..model.change import Change, Facts, combine_decisions
from ..model.entry import Entry, EntryKind
from ..model.events.event import Event, EventKind
from ..model.gate import verdict_json
from ..model.ids import hash_fraction
from ..model.inputs.run_input import gate_failures, is_gate_check
from ..model.outcome import Cancelled, Failed, Outcome, Settlement, Skipped, Succeeded, TimedOut, Waiting
from ..model.policy import MAX_BACKOFF
from ..model.reason import Reason
from ..model.run import Run, RunState
from .agenda import retry_entry
from .conclude import conclude
from .event_rows import run_event
from .fast_path import fast_settlement
from .gate import (
    end_gate_check,
    input_with_verdict,
    is_gate_failure,
    settle_gate_failure,
    skip_gate_stretch,
    with_gate_state,
)
from .messages import with_writes
from .occurrence_end import deadline_slots, end_occurrence, may_retry, result_summary
from .plans.results import with_result_event

DEADLINE_SLOT: Final = "deadline/"
_FinalOutcome: TypeAlias = Succeeded | Failed | TimedOut | Cancelled | Skipped


def settle(facts: Facts, run: Run, report: Settlement) -> Change:
    """Settle a run: fast path, else the general rules; the result of a station has an event of its own."""
    change = fast_settlement(facts, run, report) or settle_by_rules(facts, run, report)
    return with_result_event(facts, run, change, report.ended)


def settle_by_rules(facts: Facts, run: Run, report: Settlement) -> Change:
    """Apply the general rules. The store has checked that the run is live and the fencing token matches."""
    outcome = _apply_cancellation(run, report.outcome)
    if is_gate_check(run.input) and not isinstance(outcome, Waiting):
        return end_gate_check(facts, _end_run(run, outcome, report), report.ended)
    if not isinstance(outcome, Waiting) and is_gate_failure(outcome):
        return settle_gate_failure(facts, _end_run(run, outcome, report), report.ended)
    if not gate_failures(run.input):
        return _settle(facts, run, outcome, report)
    # The gate has failed before: the occurrences that passed until its verdict have no row yet.
    until = report.ended if report.gate is None else report.gate.at
    stretch = skip_gate_stretch(facts, until, report.ended)
    return combine_decisions(facts, stretch, lambda after: _settle(after, run, outcome, report))


def _settle(facts: Facts, run: Run, outcome: Outcome, report: Settlement) -> Change:
    if isinstance(outcome, Waiting):
        return with_writes(_await_answer(facts, run, outcome, report), outcome, report.writes)
    ended = _end_run(run, outcome, report)
    retry_at = _retry_at(facts, run, outcome, report.ended)
    if retry_at is not None:
        given = run._replace(input=input_with_verdict(run, report))
        forgiven = int(isinstance(outcome, Skipped))
        change = _queue_retry(facts, given, ended, retry_at, report.ended, forgiven)
    else:
        poisoned = isinstance(outcome, Failed) and outcome.died_isolated
        change = end_occurrence(facts, ended, report.ended, poisoned=poisoned)
        change = with_gate_state(change, run, outcome, report)
        if isinstance(outcome, Succeeded) and outcome.triggered_topic is not None:
            triggered = Event(
                EventKind.TASK_TRIGGERED, report.ended, run.owner, run.task_id, run.id, outcome.triggered_topic
            )
            change = change._replace(events=(triggered, *change.events))
    return with_writes(conclude(facts, change, report.ended), outcome, report.writes)


def _apply_cancellation(run: Run, outcome: Outcome) -> Outcome:
    """Return the outcome, as cancelled where a cancellation was requested and the run has not succeeded."""
    if run.cancel is None or isinstance(outcome, Succeeded | Cancelled):
        return outcome
    return Cancelled(outcome.error if isinstance(outcome, Failed | TimedOut) else "")


def _end_run(run: Run, outcome: _FinalOutcome, report: Settlement) -> Run:
    state, reason, result, error = _final_state(run, outcome)
    # A run that is only claimed has not started, whatever the node has prepared.
    started = None if run.state is RunState.CLAIMED else report.started or run.started
    if reason is Reason.GATE_CHECKED and report.gate is not None:
        result = verdict_json(report.gate)
    return run._replace(
        state=state, reason=reason, result_json=result, error=error, started=started, ended=report.ended, deadline=None
    )


def _final_state(run: Run, outcome: _FinalOutcome) -> tuple[RunState, Reason | None, str | None, str | None]:
    match outcome:
        case Succeeded(result=result):
            return RunState.SUCCEEDED, None, result, None
        case Failed(error=error, reason=reason, died_isolated=died):
            return RunState.FAILED, Reason.QUARANTINED if died else reason, None, error
        case TimedOut(error=error):
            return RunState.TIMED_OUT, Reason.DEADLINE, None, error or None
        case Cancelled(error=error):
            return RunState.CANCELLED, run.cancel or Reason.CANCELLED, None, error or None
        case Skipped(note=note, reason=reason):
            return RunState.SKIPPED, reason, None, note or None
        case never:
            assert_never(never)


def _retry_at(facts: Facts, run: Run, outcome: _FinalOutcome, now: datetime) -> datetime | None:
    """Return the instant of the next attempt; None when there is none."""
    match outcome:
        case Failed(permanent=False, died_isolated=False, retry_after=requested_delay):
            pass
        case TimedOut():
            requested_delay = None
        case Skipped(again_after=timedelta() as delay):
            return now + min(max(delay, timedelta(0)), MAX_BACKOFF) if may_retry(facts, run) else None
        case _:
            return None
    policies = facts.task.policies
    attempts = 1 if policies.guarantee == "at_most_once" else policies.retry.attempts
    if not may_retry(facts, run) or (attempts is not None and run.tries >= attempts):
        return None
    if requested_delay is not None:
        # The target chooses the delay, bounded to between zero and the longest back-off.
        return now + min(max(requested_delay, timedelta(0)), MAX_BACKOFF)
    return now + policies.retry.wait(run.tries, hash_fraction(run.id))


def _queue_retry(facts: Facts, run: Run, ended: Run, at: datetime, now: datetime, forgiven: int = 0) -> Change:
    retrying = Event(EventKind.RUN_RETRYING, now, run.owner, run.task_id, run.id, at.isoformat())
    return Change(
        status=facts.status._replace(last_result=result_summary(ended)),
        updated_runs=(ended,),
        put=(retry_entry(facts.task, facts.status, run, at, forgiven=forgiven),),
        dropped=deadline_slots(facts, run),
        events=(run_event(ended, now), retrying),
    )


def _await_answer(facts: Facts, run: Run, waiting: Waiting, report: Settlement) -> Change:
    """Put a run to waiting for an external answer: only the answer or the deadline ends it, not its node's death."""
    started = report.started or run.started or report.ended
    max_duration = facts.task.policies.max_duration
    deadline = waiting.deadline if max_duration is None else min(waiting.deadline, started + max_duration)
    given = input_with_verdict(run, report)
    moved = run._replace(state=RunState.WAITING, node=None, deadline=deadline, started=started, input=given)
    entry = Entry(
        task_id=run.task_id,
        slot=DEADLINE_SLOT + run.id,
        kind=EntryKind.DEADLINE,
        due=deadline,
        planned=run.planned,
        owner=run.owner,
        priority=facts.task.policies.priority,
        origin=run.origin,
        run_id=run.id,
    )
    return Change(updated_runs=(moved,), put=(entry,), events=(run_event(moved, report.ended),))
