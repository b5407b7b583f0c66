"""Idempotent creation of runs: runs that the ledger already has are removed from a change, with their creation events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..model.change import Change
from ..model.events.event import RUN_CREATION_KINDS, Event
from ..model.run import Run


def deduplicate_runs(change: Change, exists: Callable[[Run], bool]) -> Change:
    """Return the change without new runs that exist in the ledger or appear twice in it; the rest is unchanged."""
    new_runs: dict[str, Run] = {}
    duplicate_ids: set[str] = set()
    for run in change.new_runs:
        if run.id in new_runs or exists(run):
            duplicate_ids.add(run.id)
        else:
            new_runs[run.id] = run
    if not duplicate_ids:
        return change
    return change._replace(
        new_runs=tuple(new_runs.values()), events=_drop_creation_events(change.events, duplicate_ids, new_runs)
    )


def _drop_creation_events(
    events: tuple[Event, ...], duplicate_ids: set[str], new_runs: dict[str, Run]
) -> tuple[Event, ...]:
    """Drop creation events of duplicate runs, but one for a run that is still new; events of how a run ended stay."""
    remaining: list[Event] = []
    creation_events: Counter[str] = Counter()
    for event in events:
        if event.run_id in duplicate_ids and event.kind in RUN_CREATION_KINDS:
            creation_events[event.run_id] += 1
            if creation_events[event.run_id] > (event.run_id in new_runs):
                continue
        remaining.append(event)
    return tuple(remaining)
