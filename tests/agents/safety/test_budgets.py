"""Budgets of groups and tasks on a real service: reservation, settlement, races of processes, dead runs."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from horae.model.accounts.principal import Principal
from horae.model.agents.budget import BUDGET_KIND, Amounts, budget_from
from horae.model.agents.usage import NO_USAGE, RunUsage, add_report, usage_write
from horae.model.outcome import Skipped
from horae.model.reason import Reason
from horae.service.groups.budgets import BudgetGrant, BudgetRefusal
from tests.agents.safety.group_harness import add_group, add_prompt, live_run
from tests.unit.service.service_harness import CHIEF, ROOT, ServiceHarness, code_of, open_harness


async def granted(harness: ServiceHarness) -> BudgetGrant:
    group = await harness.service.groups.find("family")
    assert group is not None
    task = await add_prompt(harness)
    answer = await harness.service.budgets.reserve(group, task, await live_run(harness, task))
    assert isinstance(answer, BudgetGrant), answer
    return answer


async def refused(harness: ServiceHarness) -> BudgetRefusal:
    group = await harness.service.groups.find("family")
    assert group is not None
    task = await add_prompt(harness)
    answer = await harness.service.budgets.reserve(group, task, await live_run(harness, task))
    assert isinstance(answer, BudgetRefusal), answer
    return answer


async def used(harness: ServiceHarness) -> Amounts:
    return (await harness.service.budgets.get(ROOT, "family")).used


async def test_group_without_limits_writes_nothing() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        grant = await granted(harness)
        assert grant.keys == ()
        await harness.service.budgets.settle(grant, NO_USAGE)
        assert await harness.service.budgets.charge(grant, NO_USAGE) is None
        assert await harness.store.get_record(BUDGET_KIND, "family") is None


async def test_used_up_budget_skips_with_numbers_and_tells_the_chat_once_a_day() -> None:
    async with open_harness() as harness:
        group = await add_group(harness, zone="Asia/Shanghai")
        await harness.service.budgets.put(CHIEF, "family", {"runs": 1})
        assert await harness.service.budgets.exhausted(group) is None
        await harness.service.budgets.settle(await granted(harness), RunUsage(10, 5, 100))
        refusal = await refused(harness)
        assert refusal.outcome == Skipped(refusal.note, Reason.OVER_BUDGET)
        assert refusal.note == (
            "Budget of 'family', runs per day: 1 used, 0 reserved, 1 allowed, about 1 needed. "
            f"The next day begins at {refusal.until + timedelta(hours=8):%Y-%m-%d} 00:00 (Asia/Shanghai)."
        )
        assert refusal.note_zh.startswith("“family”的每日预算（运行次数）")
        mark = await harness.service.budgets.notice_write(group)
        assert mark is not None
        assert await harness.store.write_records([mark])
        assert await harness.service.budgets.notice_write(group) is None
        known = await harness.service.budgets.exhausted(group)
        assert known is not None
        assert known.until == refusal.until
        harness.clock.advance((refusal.until - harness.clock.now()).total_seconds())
        assert await harness.service.budgets.exhausted(group) is None
        await granted(harness)


async def test_explanation_of_a_skipped_run_has_the_numbers() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        await harness.service.budgets.put(CHIEF, "family", {"cost": 0})
        task = await add_prompt(harness)
        run = await live_run(harness, task)
        group = await harness.service.groups.find("family")
        assert group is not None
        refusal = await harness.service.budgets.reserve(group, task, run)
        assert isinstance(refusal, BudgetRefusal)
        await harness.settle(run, refusal.outcome)
        why = await harness.explanations.why(ROOT, task.id, run.planned)
        assert why.reason is Reason.OVER_BUDGET
        assert "cost per day: $0.00 used, $0.00 reserved, $0.00 allowed" in why.english
        assert "每日预算（费用）" in why.chinese


async def test_budget_of_a_task_counts_besides_that_of_its_group() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        await harness.service.budgets.put(CHIEF, "family", {"runs": 5})
        task = await add_prompt(harness, budget={"runs": 1})
        group = await harness.service.groups.find("family")
        assert group is not None
        first = await harness.service.budgets.reserve(group, task, await live_run(harness, task))
        assert isinstance(first, BudgetGrant)
        assert first.keys == ("family", f"family/{task.id}")
        await harness.service.budgets.settle(first, NO_USAGE)
        other = (await live_run(harness, await add_prompt(harness)))._replace(id="run_other")
        second = await harness.service.budgets.reserve(group, task, other)
        assert isinstance(second, BudgetRefusal)
        assert second.note.startswith("Budget of the task, runs per day: 1 used")
        assert (await used(harness)).runs == 1


async def test_run_that_died_is_settled_by_the_next_reservation() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        await harness.service.budgets.put(CHIEF, "family", {"tokens": 10_000})
        task = await add_prompt(harness)
        run = await live_run(harness, task)
        group = await harness.service.groups.find("family")
        assert group is not None
        assert isinstance(await harness.service.budgets.reserve(group, task, run), BudgetGrant)
        usage = add_report(NO_USAGE, input_tokens=70, output_tokens=7)
        await harness.store.write_records([usage_write(run.id, run.owner, usage, harness.clock.now())])
        await harness.settle(run)
        await granted(harness)
        state = await harness.service.budgets.get(ROOT, "family")
        assert (state.used.tokens, state.used.runs, state.reserved.runs) == (77, 1, 1)


async def test_live_agent_that_uses_more_than_the_budget_is_reported() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        await harness.service.budgets.put(CHIEF, "family", {"tokens": 5_000})
        grant = await granted(harness)
        assert await harness.service.budgets.charge(grant, RunUsage(4_000, 999)) is None
        over = await harness.service.budgets.charge(grant, RunUsage(4_000, 1_001))
        assert over is not None
        assert over.shortage.name == "tokens"
        await harness.service.budgets.settle(grant, RunUsage(4_000, 1_001))
        assert (await used(harness)).tokens == 5_001
        assert (await refused(harness)).shortage.used == 5_001


async def test_only_admins_set_a_budget() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        budgets = harness.service.budgets
        itself = Principal("group:family")
        assert await code_of(budgets.put(itself, "family", {"tokens": 1})) == "not_allowed"
        agent = Principal("group:family", agent="family")
        assert await code_of(budgets.put(agent, "family", {"tokens": 1})) == "not_for_agents"
        assert await code_of(budgets.get(Principal("group:work"), "family")) == "no_such_group"
        assert (await budgets.get(itself, "family")).limits.tokens is None
        await budgets.put(CHIEF, "family", {"tokens": 1})
        await budgets.put(CHIEF, "family", {"tokens": 1})
        rows = [row for row in (await harness.service.audit.page(ROOT)).items if row.action == "group.budget"]
        assert [row.detail["changes"] for row in rows] == [{"tokens": [None, 1]}]


async def test_concurrent_reservations_stay_within_the_budget(tmp_path: Path) -> None:
    """Three processes reserve for nine live runs at once: four are granted, as many as the budget allows."""
    url = f"sqlite:///{tmp_path}/h.db"
    async with open_harness(url) as harness:
        await add_group(harness)
        await harness.service.budgets.put(CHIEF, "family", {"runs": 4, "tokens": 1_000_000})
        tasks = [await add_prompt(harness) for _ in range(9)]
        for task in tasks:
            await harness.tasks.run_now(CHIEF, task.id)
        runs = [run.id for run in await harness.claim()]
        assert len(runs) == 9
        processes = [
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.agents.safety.reserve_runs",
                url,
                *runs[start::3],
                stdout=asyncio.subprocess.PIPE,
            )
            for start in range(3)
        ]
        answers = [(await each.communicate())[0].decode().split() for each in processes]
        assert [each.returncode for each in processes] == [0, 0, 0]
        assert sum(answer.count("granted") for answer in answers) == 4
        assert sum(len(answer) for answer in answers) == 9
        record = await harness.store.get_record(BUDGET_KIND, "family")
        assert record is not None
        assert budget_from(record).reserved.runs == 4
