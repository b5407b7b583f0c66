"""Complaints of NanoClaw's users about the host, planted again: each scenario holds, and fails with the old behaviour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from horae.model.outcome import Failed
from horae.model.task import TaskState
from horae.ports.store import TaskFilter
from tests.agents.host.host_harness import HostHarness, open_host


async def failed_task_is_told_to_the_chat(host: HostHarness) -> None:
    group = await host.add_group()
    await host.add_task(group, "morning")
    await host.look()
    host.advance(timedelta(hours=21))
    for _ in range(4):
        (run,) = await host.claim()
        await host.end(run, Failed("no quota"))
        host.advance(timedelta(hours=1))
    await host.look()
    assert [each.text for each in await host.deliveries() if "no quota" in each.text]


async def failed_turn_is_told_to_the_chat(host: HostHarness) -> None:
    await host.add_group(requires_trigger=False)
    await host.say("hello")
    await host.look()
    await host.fail_for_good()
    await host.look()
    assert len(await host.deliveries()) == 1


async def task_is_paused_without_the_agent(host: HostHarness) -> None:
    group = await host.add_group()
    await host.add_task(group, "weather")
    await host.say("@Andy /pause weather")
    await host.look()
    (facts,) = (await host.store.tasks(TaskFilter(group.owner, name="weather"))).items
    assert facts.status.state is TaskState.PAUSED
    assert await host.turns() == [], "no agent was asked"


async def log_only(*_: Any) -> None:
    """A failure was a line in the log of the host."""


def find_no_command(*_: Any) -> tuple[()]:
    """Every message went to the agent, which alone could change tasks."""
    return ()


Scenario = Callable[[HostHarness], Awaitable[None]]
OLD: dict[str, tuple[Scenario, str, Any]] = {
    "failed tasks are silent": (
        failed_task_is_told_to_the_chat,
        "horae.agents.host.task_notices.TaskNotices.tell",
        log_only,
    ),
    "failed turns are silent": (
        failed_turn_is_told_to_the_chat,
        "horae.agents.host.router.Router._tell_failure",
        log_only,
    ),
    "the agent alone manages tasks": (
        task_is_paused_without_the_agent,
        "horae.agents.host.router.find_commands",
        find_no_command,
    ),
}


@pytest.mark.parametrize("complaint", OLD)
async def test_complaint_does_not_hold(complaint: str) -> None:
    async with open_host() as host:
        await OLD[complaint][0](host)


@pytest.mark.parametrize("complaint", OLD)
async def test_scenario_finds_the_old_behaviour(complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, place, old = OLD[complaint]
    monkeypatch.setattr(place, old)
    async with open_host() as host:
        with pytest.raises(AssertionError):
            await scenario(host)
