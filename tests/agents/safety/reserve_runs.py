"""Process of a test: reserves the budget of the group `family` for runs of a store, and prints an answer for each."""

from __future__ import annotations

import asyncio
import sys

from horae.service.groups.budgets import BudgetGrant
from tests.unit.service.service_harness import open_harness


async def reserve_all(url: str, runs: list[str]) -> None:
    async with open_harness(url) as harness:
        group = await harness.service.groups.find("family")
        assert group is not None

        async def reserve(run_id: str) -> str:
            run = await harness.store.run(run_id, None)
            assert run is not None
            facts = await harness.store.facts(run.task_id, None)
            assert facts is not None
            answer = await harness.service.budgets.reserve(group, facts.task, run)
            return "granted" if isinstance(answer, BudgetGrant) else "refused"

        sys.stdout.write(" ".join(await asyncio.gather(*map(reserve, runs))))


if __name__ == "__main__":
    asyncio.run(reserve_all(sys.argv[1], sys.argv[2:]))
