"""A newer occurrence takes the place of what is going: nodes are asked to end their runs, what nobody holds ends here."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.reason import Reason
from ..model.run import Origin, RunState
from .event_rows import told
from .occurrence_end import deadline_slots, unheld
from .overlap import replaced_runs


def replacing(facts: Facts, change: Change, now: datetime) -> Change:
    """`change` puts the newer one in line; it starts when nothing is left in its way."""
    runs = replaced_runs(facts)
    ended = unheld(runs, Reason.REPLACED, now)
    held = (run for run in runs if run.state is not RunState.WAITING and run.cancel is None)
    standing = change.standing or facts.standing
    if any(run.origin is Origin.SCHEDULED for run in ended):
        standing = standing._replace(last_end=now)
    return change._replace(
        standing=standing,
        moved=ended,
        cancelled=tuple((run.id, Reason.REPLACED) for run in held),
        dropped=(*change.dropped, *(slot for run in ended for slot in deadline_slots(facts, run))),
        events=(*(told(run, now) for run in ended), *change.events),
    )
