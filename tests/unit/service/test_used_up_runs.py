"""Runs on request while the runs of the day are used up: refused or warned of, with the quota and what an admin does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from horae.lifecycle.explain import Verdict
from horae.model.accounts.principal import AGENT_QUOTAS, Principal
from horae.model.outcome import Failed
from horae.model.run import Run
from horae.model.task import Task
from horae.service.tasks.quotas import used_up_advisories
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ROOT, House, house_on, refusal_of

STORES: Final = pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])


async def used_up(house: House) -> tuple[Principal, Task, Run]:
    """ada may have one run a day, and it failed."""
    ada = await house.member("ada", runs_per_day=1)
    task = await house.add(who=ada, options=Options(retries=0))
    failed = await house.ran(HOUR, Failed("no"))
    assert await house.service.daily_quota.enforce(house.clock.now()) == 1
    return ada, task, failed


@STORES
async def test_run_on_request_is_refused_with_the_quota(url: str, tmp_path: Path) -> None:
    async with house_on(url.format(tmp_path)) as house:
        ada, task, failed = await used_up(house)
        for call in (
            house.tasks.run_now(ada, task.id),
            house.tasks.run_now(ROOT, task.id),
            house.runs.retry(ada, failed.id),
            house.tasks.backfill(ada, task.id, failed.planned, failed.planned),
        ):
            refusal = await refusal_of(call)
            assert refusal.code == "quota_used_up"
            told = refusal.in_language("en")
            assert "quota of ada is used up" in told.message
            assert told.hint.endswith("horae owner show ada")
        assert [entry.origin for entry in (await house.tasks.get(ada, task.id)).entries] == ["scheduled"]


async def test_runs_of_an_agent_are_its_own_quota() -> None:
    async with house_on() as house:
        await house.member("ada", runs_per_day=100)
        robot = await house.member("ada", agent="robot")
        house.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        task = await house.add("in 5m", who=robot)
        await house.ran(HOUR)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 1
        refusal = await refusal_of(house.tasks.run_now(ROOT, task.id))
        assert refusal.facts["command"] == "horae agent set robot --owner ada --quota runs_per_day=never"


@STORES
async def test_task_that_is_made_meanwhile_is_warned_of(url: str, tmp_path: Path) -> None:
    async with house_on(url.format(tmp_path)) as house:
        ada, _, _ = await used_up(house)
        made = await house.add("now", who=ada)
        (warning,) = used_up_advisories(await house.tasks.get(ada, made.id))
        assert warning.code == "quota_used_up"
        assert "配额已用完" in warning.in_language("zh")
        other = await house.add("now", who=await house.member("bob", runs_per_day=9))
        assert used_up_advisories(await house.tasks.get(ROOT, other.id)) == ()


@STORES
async def test_skipped_run_names_the_quota_and_the_newest_one_answers(url: str, tmp_path: Path) -> None:
    async with house_on(url.format(tmp_path)) as house:
        ada, task, failed = await used_up(house)
        for _ in range(2):
            house.later(HOUR)
            await house.claim()
        why = await house.ledger.explain(ada, task.id, None)
        assert why.at == failed.planned + 2 * HOUR
        assert (why.explanation.verdict, why.explanation.reason) == (Verdict.SKIPPED, "quota")
        assert "Quota: runs_per_day" in why.explanation.english
        assert "配额：runs_per_day" in why.explanation.chinese
