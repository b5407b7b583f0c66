"""An agent has runs of its own for each day, within its owner's: beyond them nothing that it made starts, and `why` says so."""

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
from tests.unit.service.service_harness import CHIEF, ROOT, House, house_on

STORES = pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
IN_FIVE = "in 5m"
WAIT = timedelta(minutes=5)


async def _ran(house: House, number: int, who: Principal) -> None:
    for _ in range(number):
        task = await house.add(IN_FIVE, who=who)
        await house.ran(WAIT)
        await house.tasks.delete(ROOT, task.id)


async def _why(house: House, task: Task) -> str | None:
    return (await house.ledger.explain(ROOT, task.id, None)).explanation.reason


def test_what_is_usual_is_less_than_a_member_has() -> None:
    assert AGENT_QUOTAS.runs_per_day == 500


@STORES
async def test_who_has_used_up_its_day_waits_and_its_owner_does_not(url: str, tmp_path: Path) -> None:
    async with house_on(url.format(tmp_path)) as house:
        daily = house.service.daily_quota
        ada, robot = await house.member("ada", runs_per_day=100), await house.member("ada", agent="robot")
        other = await house.member("ada", agent="other")
        house.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=3)
        await _ran(house, 2, robot)
        await _ran(house, 3, ada)
        assert await daily.enforce(house.clock.now()) == 0
        await _ran(house, 1, robot)
        assert await daily.enforce(house.clock.now()) == 1, "what it deleted meanwhile counts all the same"
        assert await daily.enforce(house.clock.now()) == 0, "once"
        late, mine, others = [await house.add(IN_FIVE, who=who) for who in (robot, ada, other)]
        house.later(WAIT)
        assert {run.task_id for run in await house.claim()} == {mine.id, others.id}
        assert await _why(house, late) == "agent_quota"
        ran = (await house.store.runs(RunFilter(task_id=late.id))).items
        assert [(run.state, run.reason) for run in ran] == [("skipped", "agent_quota")]


@STORES
async def test_another_day_lifts_it(url: str, tmp_path: Path) -> None:
    async with house_on(url.format(tmp_path)) as house:
        daily = house.service.daily_quota
        robot = await house.member("ada", agent="robot")
        daily.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        await _ran(house, 1, robot)
        assert await daily.enforce(house.clock.now()) == 1
        house.later(12 * HOUR)
        assert await daily.enforce(house.clock.now()) == 1
        await _ran(house, 1, robot)
        assert await daily.enforce(house.clock.now()) == 1


async def test_its_owner_s_limit_is_its_own_too_where_that_is_less() -> None:
    async with house_on() as house:
        robot = await house.member("ada", runs_per_day=2, agent="robot")
        await _ran(house, 2, robot)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 2, "both of them"
        late = await house.add(IN_FIVE, who=robot)
        house.later(WAIT)
        assert await house.claim() == []
        assert await _why(house, late) == "quota", "the owner's reason comes first"
        await house.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 50})
        account = await house.service.accounts.get(CHIEF, "ada")
        assert (account.exhausted_on, account.exhausted_agents) == (None, ()), "a higher limit lifts both at once"


async def test_agents_of_one_name_do_not_share_their_day() -> None:
    async with house_on() as house:
        daily = house.service.daily_quota
        daily.agents = AGENT_QUOTAS._replace(runs_per_day=2)
        adas, bobs = [await house.member(name, agent="robot") for name in ("ada", "bob")]
        await _ran(house, 1, adas)
        await _ran(house, 1, bobs)
        assert await daily.enforce(house.clock.now()) == 0
        await _ran(house, 1, bobs)
        assert await daily.enforce(house.clock.now()) == 1
        await _ran(house, 1, adas)


async def test_an_admin_s_agent_has_the_limit_of_agents() -> None:
    async with house_on() as house:
        robot = await house.member("boss", Role.ADMIN, agent="robot")
        house.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        await _ran(house, 1, robot)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 1
        owner = await house.service.accounts.get(ROOT, "boss")
        assert owner.exhausted_agents == (("robot", house.clock.now().date()),)
        assert owner_from(owner_record(owner))._replace(version=owner.version) == owner
        house.later(MINUTE)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 0


class _Looked(dict[tuple[int, str], int]):
    """Counts that tell how often somebody went through all of them."""

    times = 0

    def items(self) -> Any:
        _Looked.times += 1
        return super().items()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        _Looked.times += 1
        return super().__iter__()


async def test_hundreds_of_agents_and_owners_are_added_up_once() -> None:
    """Else a minute's look would take as long as agents by agents by owners: nobody is served meanwhile."""

    async with house_on() as house:
        for number in range(5):
            await house.member(f"owner-{number}")
        everybody = _Looked(
            {(hour_of(house.clock.now()), f"{AGENT_PREFIX}robot-{number}"): 501 for number in range(50)}
        )

        async def counts(owner: str | None, _hours: object) -> Mapping[tuple[int, str], int]:
            return everybody if owner is None else {}

        house.store.counts = counts  # type: ignore[method-assign,assignment]  # as if so many had run
        _Looked.times = 0
        assert await house.service.daily_quota.enforce(house.clock.now()) == 0
        assert 0 < _Looked.times <= 10, "not once for each agent of each owner"
