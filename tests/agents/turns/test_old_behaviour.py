"""What users of NanoClaw complained of, planted again: each scenario holds, and fails with the old behaviour."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from horae.agents.runtimes.process import ProcessRuntime
from horae.agents.target.agent_run import AgentRun
from horae.agents.target.stream_reader import StreamReader
from horae.agents.target.turn_state import Action, Event, MessageBatch, TurnState, YieldRequested
from horae.model.accounts.principal import LOCAL
from horae.model.agents.agent_task import group_lane
from horae.model.agents.group import Group
from horae.model.change import Facts
from horae.model.task import Task
from horae.ports.chat_messages import read_chat_message
from horae.ports.runtime import RuntimeSpec
from horae.ports.store import TaskFilter
from horae.service.tasks.controls import TaskControls

from . import agent_host
from .agent_host import SCRIPTED_INSIDE, AgentHost, open_host
from .kill_points import die_at

SETTINGS = {"runtime": "process"}


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


# --- scenarios -----------------------------------------------------------------------------------------------------


async def task_fires_once_though_the_host_dies_in_it(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        group = await host.add_group()
    await die_at("task_committed", folder, SETTINGS)
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        (facts,) = (await host.store.tasks(TaskFilter(group.owner))).items
        await host.ended(facts.task)
        assert await host.answers(group) == ["morning"]


async def task_that_is_paused_in_the_queue_does_not_run(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        group = await host.add_group()
        await host.add_task(group, "wait\nsay busy")
        await host.until_file(group, "waiting")
        paused = await host.add_task(group, "say paused")
        await host.until(lambda: waits(host, paused, group))
        await host.app.service.tasks.pause(LOCAL, paused.id)
        last = await host.add_task(group, "say last")
        go(host, group)
        await host.ended(last)
        assert await host.answers(group) == ["busy", "last"]


async def task_does_not_wait_for_an_idle_agent(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        group = await host.add_group()
        await host.post(group, "say answer")
        await host.ask_turn(group)
        await host.until_answers(group, "answer")
        await host.add_task(group, "say task")
        await host.until_answers(group, "answer", "task")


async def message_of_the_same_instant_as_an_answered_one_is_answered(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        group = await host.add_group()
        await host.post(group, "say one")
        await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "say two")
        host.target.notify("family")
        await host.until_answers(group, "one", "two")


async def idle_agent_of_a_group_gives_way_to_another_group(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, limit=1, **SETTINGS) as host:
        one, two = await host.add_group("one"), await host.add_group("two")
        for group in (one, two):
            await host.post(group, f"say {group.folder}")
            await host.ask_turn(group)
            await host.until_answers(group, group.folder)


async def agent_of_a_dead_host_ends_at_the_next_start(folder: Path) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **SETTINGS) as host:
        spec = RuntimeSpec(run="lost", program=(sys.executable, "-c", "import signal; signal.pause()"))
        async with await host.target.runtime.start(spec) as agent, open_host(folder, SCRIPTED_INSIDE, **SETTINGS):
            try:
                async with asyncio.timeout(agent_host.WITHIN):
                    await agent.wait()
            except TimeoutError:
                raise AssertionError("the agent of a run that nobody knows goes on") from None


async def waits(host: AgentHost, task: Task, group: Group) -> bool:
    queued = await host.app.service.lanes.queued(LOCAL, group_lane(group.folder))
    return any(each.task.id == task.id for each in queued)


def go(host: AgentHost, group: Group) -> None:
    (host.target.workspace.group(group.folder) / "go").touch()


# --- old behaviour -------------------------------------------------------------------------------------------------


async def deliver_always(_self: AgentRun) -> bool:
    """The next run was planned after the end of the last: a restart fired the task again, with its answer."""
    return True


async def pause_nothing(self: TaskControls, principal: Any, task_id: str, **_options: Any) -> Facts:
    """The queue held functions: a change of the row did not reach what was queued."""
    return await self.get(principal, task_id)


def keep_idle_agent(self: TurnState, event: Event, at: float) -> Sequence[Action]:
    """An idle agent waited for messages for 30 minutes, whatever was queued for its group."""
    return [] if isinstance(event, YieldRequested) and "group:" in str(event.reason) else handle(self, event, at)


def keep_slot(self: TurnState, event: Event, at: float) -> Sequence[Action]:
    """A group kept its slot as long as its agent lived: other groups waited."""
    return [] if isinstance(event, YieldRequested) and "agents" in str(event.reason) else handle(self, event, at)


async def reap_nothing(_self: ProcessRuntime, _keep: Collection[str] = ()) -> Sequence[str]:
    """Containers of a process that had died went on, and answered a chat that had moved on."""
    return []


async def read_after_the_last_time(self: StreamReader, after: int | None = None) -> MessageBatch | None:
    """The cursor was a time: messages of the same instant as the last handled one were not after it."""
    if after is not None:
        page = await self._messages.read(self._group.stream, after=0, limit=200)
        people = [each for each in map(read_chat_message, page.messages) if not each.is_own]
        handled = max((each.sent for each in people if each.number <= after), default=None)
        if handled is not None and all(each.sent <= handled for each in people if each.number > after):
            return None
    return await next_batch(self, after)


handle = TurnState.handle
next_batch = StreamReader.next_batch
Scenario = Callable[[Path], Awaitable[None]]
OLD: dict[str, tuple[Scenario, type, str, Any]] = {
    "double fire after a restart": (task_fires_once_though_the_host_dies_in_it, AgentRun, "_delivers", deliver_always),
    "paused while queued": (task_that_is_paused_in_the_queue_does_not_run, TaskControls, "pause", pause_nothing),
    "stuck behind an idle agent": (task_does_not_wait_for_an_idle_agent, TurnState, "handle", keep_idle_agent),
    "busy group starves others": (idle_agent_of_a_group_gives_way_to_another_group, TurnState, "handle", keep_slot),
    "orphans": (agent_of_a_dead_host_ends_at_the_next_start, ProcessRuntime, "reap", reap_nothing),
    "equal timestamps": (
        message_of_the_same_instant_as_an_answered_one_is_answered,
        StreamReader,
        "next_batch",
        read_after_the_last_time,
    ),
}


@pytest.mark.parametrize("complaint", OLD)
async def test_complaint_does_not_hold(complaint: str, tmp_path: Path) -> None:
    await OLD[complaint][0](tmp_path)


@pytest.mark.parametrize("complaint", OLD)
async def test_scenario_finds_the_old_behaviour(
    complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, owner, attribute, old = OLD[complaint]
    monkeypatch.setattr(owner, attribute, old)
    monkeypatch.setattr(agent_host, "WITHIN", 4.0)
    with pytest.raises(AssertionError):
        await scenario(tmp_path)
