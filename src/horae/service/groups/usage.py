"""Usage of runs: what the agent of a run has reported about tokens, cost and model."""

from __future__ import annotations

from ...model.agents.usage import USAGE_KIND, RunUsage, usage_from
from ...ports.records import Records


async def load_usage(records: Records, run_id: str) -> RunUsage | None:
    """Return the usage of a run without a check of rights; None if its agent has reported none, or it had no agent."""
    record = await records.get_record(USAGE_KIND, run_id)
    return None if record is None else usage_from(record)
