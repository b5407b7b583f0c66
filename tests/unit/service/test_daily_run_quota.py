"""Runs per day of an agent, within those of its owner: beyond them its tasks are skipped with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.model.accounts.account import owner_from, owner_record
from horae.model.accounts.principal import AGENT_QUOTAS, Principal, Role
from horae.model.counts import AGENT_PREFIX, hour_of
from horae.model.task import Task
from horae.ports.store import RunFilter
from horae.testing.factories import HOUR, MINUTE
from tests.unit.service.service_harness import CHIEF, ROOT, ServiceHarness, open_harness

STORES = pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
IN_FIVE = "in 5m"
WAIT = timedelta(minutes=5)


async def _run_times(harness: ServiceHarness, number: int, who: Principal) -> None:
    for _ in range(number):
        task = await harness.add(IN_FIVE, who=who)
        await harness.run_due(WAIT)
        await harness.tasks.delete(ROOT, task.id)


async def _why(harness: ServiceHarness, task: Task) -> str | None:
    return (await harness.explanations.explain(ROOT, task.id, None)).explanation.reason


def test_default_agent_quota_is_below_that_of_a_member() -> None:
    assert AGENT_QUOTAS.runs_per_day == 500


@STORES
async def test_agent_over_runs_per_day_is_skipped_and_its_owner_is_not(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        daily = harness.service.daily_quota
        ada, robot = await harness.make_member("ada", runs_per_day=100), await harness.make_member("ada", agent="robot")
        other = await harness.make_member("ada", agent="other")
        harness.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=3)
        await _run_times(harness, 2, robot)
        await _run_times(harness, 3, ada)
        assert await daily.enforce(harness.clock.now()) == 0
        await _run_times(harness, 1, robot)
        assert await daily.enforce(harness.clock.now()) == 1, "what it deleted meanwhile counts all the same"
        assert await daily.enforce(harness.clock.now()) == 0, "once"
        late, mine, others = [await harness.add(IN_FIVE, who=who) for who in (robot, ada, other)]
        harness.advance(WAIT)
        assert {run.task_id for run in await harness.claim()} == {mine.id, others.id}
        assert await _why(harness, late) == "agent_quota"
        ran = (await harness.store.runs(RunFilter(task_id=late.id))).items
        assert [(run.state, run.reason) for run in ran] == [("skipped", "agent_quota")]


@STORES
async def test_new_day_unblocks_the_agent(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        daily = harness.service.daily_quota
        robot = await harness.make_member("ada", agent="robot")
        daily.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        await _run_times(harness, 1, robot)
        assert await daily.enforce(harness.clock.now()) == 1
        harness.advance(12 * HOUR)
        assert await daily.enforce(harness.clock.now()) == 1
        await _run_times(harness, 1, robot)
        assert await daily.enforce(harness.clock.now()) == 1


async def test_lower_limit_of_the_owner_applies_to_its_agent() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", runs_per_day=2, agent="robot")
        await _run_times(harness, 2, robot)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 2, "both of them"
        late = await harness.add(IN_FIVE, who=robot)
        harness.advance(WAIT)
        assert await harness.claim() == []
        assert await _why(harness, late) == "quota", "the owner's reason comes first"
        await harness.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 50})
        account = await harness.service.accounts.get(CHIEF, "ada")
        assert (account.exhausted_on, account.exhausted_agents) == (None, ()), "a higher limit lifts both at once"


async def test_agents_of_two_owners_with_one_name_have_separate_quotas() -> None:
    async with open_harness() as harness:
        daily = harness.service.daily_quota
        daily.agents = AGENT_QUOTAS._replace(runs_per_day=2)
        adas, bobs = [await harness.make_member(name, agent="robot") for name in ("ada", "bob")]
        await _run_times(harness, 1, adas)
        await _run_times(harness, 1, bobs)
        assert await daily.enforce(harness.clock.now()) == 0
        await _run_times(harness, 1, bobs)
        assert await daily.enforce(harness.clock.now()) == 1
        await _run_times(harness, 1, adas)


async def test_agent_of_an_admin_has_the_agent_quota() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("boss", Role.ADMIN, agent="robot")
        harness.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        await _run_times(harness, 1, robot)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 1
        owner = await harness.service.accounts.get(ROOT, "boss")
        assert owner.exhausted_agents == (("robot", harness.clock.now().date()),)
        assert owner_from(owner_record(owner))._replace(version=owner.version) == owner
        harness.advance(MINUTE)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 0


class _CountingDict(dict[tuple[int, str], int]):
    """Counters that count their iterations."""

    times = 0

    def items(self) -> Any:
        _CountingDict.times += 1
        return super().items()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        _CountingDict.times += 1
        return super().__iter__()


async def test_enforcement_reads_the_counters_once_for_all_agents() -> None:
    """Otherwise one enforcement would cost agents × agents × owners and block the server."""

    async with open_harness() as harness:
        for number in range(5):
            await harness.make_member(f"owner-{number}")
        all_counts = _CountingDict(
            {(hour_of(harness.clock.now()), f"{AGENT_PREFIX}robot-{number}"): 501 for number in range(50)}
        )

        async def counts(owner: str | None, _hours: object) -> Mapping[tuple[int, str], int]:
            return all_counts if owner is None else {}

        harness.store.counts = counts  # type: ignore[method-assign,assignment]  # as if so many had run
        _CountingDict.times = 0
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 0
        assert 0 < _CountingDict.times <= 10, "not once for each agent of each owner"
