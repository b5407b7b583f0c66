"""Deduplication of runs that the ledger has already, after a clock or schedule was set back to an earlier instant."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.events.event import OF_BIRTH
from .conclude import conclude


def without_made(facts: Facts, change: Change, now: datetime) -> Change:
    """Remove existing runs and their start events from a change, and conclude again, since no entry may wait for them."""
    reduced = change._replace(
        new_runs=tuple(run for run in change.new_runs if run.id not in facts.existing_run_ids),
        events=tuple(each for each in change.events if each.kind not in OF_BIRTH or each.run_id not in facts.existing_run_ids),
    )
    return conclude(facts, reduced, now)
