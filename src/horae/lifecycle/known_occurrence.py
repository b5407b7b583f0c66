"""The ledger has it already: a clock was set back, or a schedule was, and the agenda came to an instant a second time.

An occurrence happens once. What was to be done about it again is left out, and whatever counted on that goes on without.
"""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.events.event import OF_BIRTH
from .conclude import conclude


def without_made(facts: Facts, change: Change, now: datetime) -> Change:
    """Nothing waits for a run that does not start, and a task that has nothing else left is completed."""
    kept = change._replace(
        born=tuple(run for run in change.born if run.id not in facts.made),
        events=tuple(each for each in change.events if each.kind not in OF_BIRTH or each.run_id not in facts.made),
    )
    return conclude(facts, kept, now)
