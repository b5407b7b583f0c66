"""Loads what an entry waits for in a lane: the runs in it, the entries ahead of it, and when a slot becomes free."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...lifecycle.explain.lane import LaneWait, earliest_start, soonest
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.entry import Entry
from ...model.lanes.lane import LaneUse, turn_order
from ...model.run import Run
from ...ports.full_store import FullStore

_MAX_HOLDERS: Final = 20
"""Runs of a lane that are read."""


async def load_lane_wait(store: FullStore, principal: Principal, facts: Facts, entry: Entry) -> LaneWait:
    """Return what an entry that is parked in a lane waits for; runs of others are only counted."""
    lane = entry.lane or ""
    holders = await store.lane_runs(lane, _MAX_HOLDERS)
    use = next((each for each in facts.lanes if each.name == lane), LaneUse(lane, 1, len(holders)))
    visible = tuple(run.id for run in holders if _sees(principal, facts, run))
    line = await store.lane_line(lane)
    order = [(each.task_id, each.slot) for each in turn_order(line.waiters, line.last_owner)]
    key = (entry.task_id, entry.slot)
    ahead = order.index(key) if key in order else len(order)
    deadlines = [await _deadline(store, run) for run in holders]
    return LaneWait(
        lane,
        use.limit,
        use.used,
        visible,
        max(0, use.used - len(visible)),
        ahead,
        # Entries that were not read may be ahead of it, by turns of their owners.
        line.more,
        soonest(deadlines),
        earliest_start(use.rate, use.next_start, ahead),
    )


def _sees(principal: Principal, facts: Facts, run: Run) -> bool:
    if principal.agent is not None:
        return run.task_id == facts.task.id
    return principal.owner_filter in (None, run.owner)


async def _deadline(store: FullStore, run: Run) -> datetime | None:
    """Return when a run ends at the latest: its answer deadline, or the end of `max_duration`. A heartbeat moves neither."""
    if run.deadline is not None or run.started is None:
        return run.deadline
    facts = await store.facts(run.task_id, None)
    longest = None if facts is None else facts.task.policies.max_duration
    return None if longest is None else run.started + longest
