"""Gate decisions: the back-off after a gate that failed, the pause after many failures, and the state of a verdict."""

from __future__ import annotations

from datetime import datetime

from ..model.change import NOTHING, Change, Facts, combine_decisions
from ..model.entry import EntryKind, EntryState
from ..model.events.event import Event, EventKind
from ..model.gate import MAX_GATE_FAILURES, GateProgress, GateVerdict, gate_wait, state_write
from ..model.inputs.run_input import RunInput, gate_failures, with_gate
from ..model.outcome import Outcome, Settlement, Skipped, Succeeded
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import PauseCause, TaskState
from .agenda import retry_entry
from .conclude import conclude
from .control.pause import pause_open_task
from .event_rows import run_event
from .occurrence import skip_due_backlog
from .occurrence_end import deadline_slots, end_occurrence, may_retry, result_summary


def is_gate_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Skipped) and outcome.reason is Reason.GATE_FAILED


def verdict_of(run: Run, report: Settlement) -> GateVerdict | None:
    """Return the verdict of this run: as reported, or kept with a run that waited for an external answer."""
    if report.gate is not None or run.input is None or run.input.gate is None:
        return report.gate
    return run.input.gate.verdict


def input_with_verdict(run: Run, report: Settlement) -> RunInput | None:
    """Return the input of the next attempt: a retry of the target keeps an open verdict."""
    verdict = verdict_of(run, report)
    return with_gate(run.input, None if verdict is None else GateProgress(0, verdict))


def with_gate_state(change: Change, run: Run, outcome: Outcome, report: Settlement) -> Change:
    """Return the change with the state of the verdict, if the run succeeded or the gate was closed; else it is dropped."""
    verdict = verdict_of(run, report)
    is_closed = isinstance(outcome, Skipped) and outcome.reason is Reason.GATE_CLOSED
    if verdict is None or not (is_closed or isinstance(outcome, Succeeded)):
        return change
    write = state_write(run.task_id, run.owner, verdict)
    return change if write is None else change._replace(attached=(*change.attached, write))


def settle_gate_failure(facts: Facts, ended: Run, now: datetime) -> Change:
    """Try a failed gate again later; after too many failures in a row end the occurrence and pause the task.

    The target was not called, so that neither an attempt is used up nor a failure counted.
    """
    failures = gate_failures(ended.input) + 1
    if failures < MAX_GATE_FAILURES and may_retry(facts, ended):
        return _queue_gate_retry(facts, ended, failures, now)
    change = combine_decisions(
        facts, skip_gate_stretch(facts, now, now), lambda after: conclude(after, end_occurrence(after, ended, now), now)
    )
    return combine_decisions(facts, change, lambda after: _pause_if_active(after, ended, now))


def end_gate_check(facts: Facts, ended: Run, now: datetime) -> Change:
    """End a check of the gate: neither the status of the task, nor the back-off or the state of its gate changes."""
    change = Change(updated_runs=(ended,), dropped=deadline_slots(facts, ended), events=(run_event(ended, now),))
    return conclude(facts, change, now)


def skip_gate_stretch(facts: Facts, until: datetime, now: datetime) -> Change:
    """Record the occurrences that passed while the gate failed, as one skipped row."""
    for entry in facts.entries:
        if entry.kind is EntryKind.NEXT and entry.state is EntryState.HELD and entry.due <= until:
            return skip_due_backlog(facts, entry, Reason.GATE_FAILED, until, now)
    return NOTHING


def _queue_gate_retry(facts: Facts, ended: Run, failures: int, now: datetime) -> Change:
    at = now + gate_wait(failures)
    retry = retry_entry(facts.task, facts.status, ended, at, forgiven=1)
    change = Change(
        status=facts.status._replace(last_result=result_summary(ended)),
        updated_runs=(ended,),
        put=(retry._replace(input=with_gate(ended.input, GateProgress(failures))),),
        events=(
            run_event(ended, now),
            Event(EventKind.RUN_RETRYING, now, ended.owner, ended.task_id, ended.id, at.isoformat()),
        ),
    )
    return conclude(facts, change, now)


def _pause_if_active(facts: Facts, ended: Run, now: datetime) -> Change:
    if facts.status.state is not TaskState.ACTIVE or gate_failures(ended.input) + 1 < MAX_GATE_FAILURES:
        return NOTHING
    return pause_open_task(facts, now, PauseCause.GATE_FAILED, ended.error or "")
