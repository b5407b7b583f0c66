"""Whether the agent of a group works now: a live run in its lane that is not idle."""

from __future__ import annotations

from typing import Final

from ...model.accounts.system_owner import account_of
from ...model.lanes.idle import IDLE_RUNS_KIND, idle_runs_of
from ...ports.full_store import FullStore

AGENTS_LANE: Final = "agents"
"""Lane that all agents share."""
_MAX_RUNS: Final = 100


async def working_owners(store: FullStore, lane: str = AGENTS_LANE) -> frozenset[str]:
    """Return the owners of the groups whose agents work in this lane."""
    runs = await store.lane_runs(lane, _MAX_RUNS)
    if not runs:
        return frozenset()
    idle = {each.run_id for each in idle_runs_of(await store.get_record(IDLE_RUNS_KIND, lane))}
    return frozenset(account_of(run.owner) for run in runs if run.id not in idle)
