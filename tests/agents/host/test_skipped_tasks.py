"""Notices of prompts that did not run: the chat is told of skips that nothing has planned, once, also after a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Skipped, Succeeded
from horae.model.reason import UNPLANNED_SKIPS, Reason
from horae.model.task import TaskState
from horae.service.groups.budgets import BudgetRefusal
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options
from tests.agents.host.host_harness import HostHarness, open_host


async def notices(host: HostHarness) -> list[str]:
    return [each.text for each in await host.deliveries()]


async def skip_for_budget(host: HostHarness, folder: str = "family") -> None:
    """Settle the run that is due as the target does, when the budget of its group has no room."""
    await host.service.budgets.put(LOCAL, folder, {"runs": 0})
    (run,) = await host.claim()
    group = await host.service.groups.find(folder)
    facts = await host.store.facts(run.task_id, None)
    assert group is not None
    assert facts is not None
    refusal = await host.service.budgets.reserve(group, facts.task, run)
    assert isinstance(refusal, BudgetRefusal)
    await host.end(run, refusal.outcome)


async def test_the_chat_is_told_that_a_reminder_was_skipped_by_its_budget() -> None:
    async with open_host() as host:
        group = await host.add_group(requires_trigger=False)
        task = await host.add_task(group, "reminder", "in 1h")
        await host.look()
        host.advance(timedelta(hours=1))
        await skip_for_budget(host)
        for _ in range(2):
            await host.look()
            host.restart()
        await host.look()

        (told,) = await notices(host)
        assert told.startswith("The task 'reminder' did not run: Budget of 'family', runs per day: 0 used")
        assert told.endswith(" For more, write: /why reminder")
        assert (await host.store.facts(task.id, None)).status.state is TaskState.COMPLETED  # type: ignore[union-attr]


async def test_the_notice_is_in_the_language_of_the_group() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.service.accounts.put(LOCAL, group.owner, language="zh")
        await host.add_task(group, "提醒", "in 1h")
        await host.look()
        host.advance(timedelta(hours=1))
        await skip_for_budget(host)
        await host.look()

        (told,) = await notices(host)
        assert told.startswith("任务“提醒”没有运行：“family”的每日预算")
        assert told.endswith("@Andy /why 提醒")


async def test_a_task_of_each_day_is_reported_once_a_day_and_not_after_a_success() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "news", "every 2h")
        await host.look()
        for told in (1, 1, 1, 1, 1, 1, 2):
            host.advance(timedelta(hours=2))
            await skip_for_budget(host)
            await host.look()
            assert len(await notices(host)) == told
        host.restart()
        host.advance(timedelta(hours=13))
        (run,) = await host.claim()
        await host.end(run, Succeeded())
        await host.look()
        assert len(await notices(host)) == 2, "the newest occurrence ran"


@pytest.mark.parametrize("options", [Options(start_within="10m"), Options(missed="skip")])
async def test_a_reminder_that_came_too_late_is_reported(options: Options) -> None:
    async with open_host() as host:
        group = await host.add_group()
        task = await host.add_task(group, "reminder", "in 1h")
        await host.service.tasks.edit(LOCAL, task.id, Edits(options=options))
        host.advance(timedelta(hours=3))
        assert await host.claim() == []
        await host.look()

        (told,) = await notices(host)
        assert told.startswith("The task 'reminder' did not run: It ")


async def test_a_run_on_request_that_is_skipped_is_not_reported() -> None:
    async with open_host() as host:
        group = await host.add_group()
        task = await host.add_task(group, "news")
        await host.look()
        await host.service.tasks.run_now(LOCAL, task.id)
        await skip_for_budget(host)
        await host.look()

        assert await notices(host) == []


@pytest.mark.parametrize("reason", Reason)
async def test_only_skips_that_nothing_has_planned_are_reported(reason: Reason) -> None:
    """The table in docs/agents.md."""
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "reminder", "in 1h")
        await host.look()
        host.advance(timedelta(hours=1))
        (run,) = await host.claim()
        await host.end(run, Skipped("note", reason))
        await host.look()

        assert len(await notices(host)) == (reason in UNPLANNED_SKIPS)
