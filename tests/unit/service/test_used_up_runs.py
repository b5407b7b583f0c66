"""Manual runs beyond the runs per day: refused or warned of, with the quota and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from horae.lifecycle.explain.explanation import Verdict
from horae.model.accounts.principal import AGENT_QUOTAS, Principal
from horae.model.outcome import Failed
from horae.model.run import Run
from horae.model.task import Task
from horae.service.tasks.quotas import used_up_advisories
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ROOT, ServiceHarness, open_harness, refusal_of

STORES: Final = pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])


async def used_up(harness: ServiceHarness) -> tuple[Principal, Task, Run]:
    """ada may have one run a day, and it failed."""
    ada = await harness.make_member("ada", runs_per_day=1)
    task = await harness.add(who=ada, options=Options(retries=0))
    failed = await harness.run_due(HOUR, Failed("no"))
    assert await harness.service.daily_quota.enforce(harness.clock.now()) == 1
    return ada, task, failed


@STORES
async def test_run_on_request_is_refused_with_the_quota(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada, task, failed = await used_up(harness)
        for call in (
            harness.tasks.run_now(ada, task.id),
            harness.tasks.run_now(ROOT, task.id),
            harness.runs.retry(ada, failed.id),
            harness.tasks.backfill(ada, task.id, failed.planned, failed.planned),
        ):
            refusal = await refusal_of(call)
            assert refusal.code == "quota_used_up"
            told = refusal.in_language("en")
            assert "quota of ada is used up" in told.message
            assert told.hint.endswith("horae owner show ada")
        assert [entry.origin for entry in (await harness.tasks.get(ada, task.id)).entries] == ["scheduled"]


async def test_runs_of_an_agent_are_its_own_quota() -> None:
    async with open_harness() as harness:
        await harness.make_member("ada", runs_per_day=100)
        robot = await harness.make_member("ada", agent="robot")
        harness.service.daily_quota.agents = AGENT_QUOTAS._replace(runs_per_day=1)
        task = await harness.add("in 5m", who=robot)
        await harness.run_due(HOUR)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 1
        refusal = await refusal_of(harness.tasks.run_now(ROOT, task.id))
        assert refusal.facts["command"] == "horae agent set robot --owner ada --quota runs_per_day=never"


@STORES
async def test_task_created_meanwhile_has_a_warning(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada, _, _ = await used_up(harness)
        made = await harness.add("now", who=ada)
        (warning,) = used_up_advisories(await harness.tasks.get(ada, made.id))
        assert warning.code == "quota_used_up"
        assert "配额已用完" in warning.in_language("zh")
        other = await harness.add("now", who=await harness.make_member("bob", runs_per_day=9))
        assert used_up_advisories(await harness.tasks.get(ROOT, other.id)) == ()


@STORES
async def test_skipped_run_names_the_quota_and_the_newest_is_explained(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada, task, failed = await used_up(harness)
        for _ in range(2):
            harness.advance(HOUR)
            await harness.claim()
        why = await harness.explanations.explain(ada, task.id, None)
        assert why.at == failed.planned + 2 * HOUR
        assert (why.explanation.verdict, why.explanation.reason) == (Verdict.SKIPPED, "quota")
        assert "Quota: runs_per_day" in why.explanation.english
        assert "配额：runs_per_day" in why.explanation.chinese
