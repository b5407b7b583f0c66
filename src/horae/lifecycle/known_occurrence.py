"""Deduplication of runs that the ledger has already, after a clock or schedule was set back to an earlier instant."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.events.event import RUN_CREATION_KINDS
from .conclude import conclude


def drop_existing_runs(facts: Facts, change: Change, now: datetime) -> Change:
    """Remove existing runs and their start events from a change, and conclude again, since no entry may wait for them."""
    reduced = change._replace(
        new_runs=tuple(run for run in change.new_runs if run.id not in facts.existing_run_ids),
        events=tuple(
            each
            for each in change.events
            if each.kind not in RUN_CREATION_KINDS or each.run_id not in facts.existing_run_ids
        ),
    )
    return conclude(facts, reduced, now)
