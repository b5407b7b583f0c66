"""Overlap policy `replace`: cancels live runs for a newer occurrence; runs without a node end at once."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.reason import Reason
from ..model.run import Origin, RunState
from .event_rows import run_event
from .occurrence_end import cancel_waiting_runs, deadline_slots
from .overlap import replaced_runs


def cancel_replaced_runs(facts: Facts, change: Change, now: datetime) -> Change:
    """Add the cancellation of the replaced runs to `change`, which queues the newer occurrence."""
    runs = replaced_runs(facts)
    ended = cancel_waiting_runs(runs, Reason.REPLACED, now)
    executing = (run for run in runs if run.state is not RunState.WAITING and run.cancel is None)
    status = change.status or facts.status
    if any(run.origin is Origin.SCHEDULED for run in ended):
        status = status._replace(last_end=now)
    return change._replace(
        status=status,
        updated_runs=ended,
        cancelled=tuple((run.id, Reason.REPLACED) for run in executing),
        dropped=(*change.dropped, *(slot for run in ended for slot in deadline_slots(facts, run))),
        events=(*(run_event(run, now) for run in ended), *change.events),
    )
