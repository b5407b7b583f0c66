"""Behaviours of NanoClaw's queue of groups, on a real engine: lanes, priorities, idle agents that yield, back-off.

The rules of one agent are in test_turn_state.py; these are about several at once.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import Conflict
from horae.lifecycle.explain.explanation import Verdict
from horae.model.accounts.principal import LOCAL
from horae.model.agents.agent_task import AGENTS_LANE, group_lane
from horae.model.agents.group import Group
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import Task

from .agent_host import AgentHost, OpenAgents

in_both = pytest.mark.parametrize("agents", ["bubblewrap", "podman"], indirect=True)
on_all = pytest.mark.parametrize("agents", ["process", "bubblewrap", "podman"], indirect=True)


@pytest.fixture(autouse=True)
def _close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


async def waits(host: AgentHost, task: Task, lane: str) -> bool:
    """Whether the task waits for a slot of a lane."""
    return any(each.task.id == task.id for each in await host.app.service.lanes.queued(LOCAL, lane))


def go(host: AgentHost, group: Group) -> None:
    """Let an agent that was told to wait go on."""
    (host.target.workspace.group(group.folder) / "go").touch()


@on_all
async def test_a_group_has_one_agent_at_a_time(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        first = await host.add_task(group, "wait\nsay one")
        await host.until_file(group, "waiting")
        second = await host.add_task(group, "say two")
        await host.until(lambda: waits(host, second, group_lane("family")))
        go(host, group)
        for task in (first, second):
            assert (await host.ended(task)).state is RunState.SUCCEEDED
        assert host.journal(group) == ["start task", "end", "start task", "end"]


@on_all
async def test_all_groups_share_the_limit_of_agents(agents: OpenAgents) -> None:
    async with agents(limit=1) as host:
        one, two = await host.add_group("one"), await host.add_group("two")
        first = await host.add_task(one, "wait\nsay one")
        await host.until_file(one, "waiting")
        second = await host.add_task(two, "say two")
        await host.until(lambda: waits(host, second, AGENTS_LANE))
        assert host.journal(two) == []
        go(host, one)
        assert (await host.ended(second)).state is RunState.SUCCEEDED
        assert (await host.ended(first)).state is RunState.SUCCEEDED


@in_both
async def test_the_limit_of_agents_is_five_and_a_chosen_one_stays(agents: OpenAgents) -> None:
    async with agents() as host:
        assert {lane.name: lane.limit for lane in await host.store.lanes()}[AGENTS_LANE] == 5
        await host.app.service.lanes.limit(LOCAL, AGENTS_LANE, 2)
    async with agents() as host:
        assert {lane.name: lane.limit for lane in await host.store.lanes()}[AGENTS_LANE] == 2


@on_all
async def test_tasks_go_before_messages(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        busy = await host.add_task(group, "wait\nsay busy")
        await host.until_file(group, "waiting")
        await host.post(group, "say answer")
        turn = await host.ask_turn(group)
        await host.until(lambda: waits(host, turn, group_lane("family")))
        task = await host.add_task(group, "say task")
        await host.until(lambda: waits(host, task, group_lane("family")))
        go(host, group)
        await host.ended(busy)
        await host.until_answers(group, "busy", "task", "answer")
        gave_way = (await host.runs(turn))[-1]
        assert (gave_way.state, gave_way.error) == (RunState.SKIPPED, "a task of the group goes first")
        explained = await host.app.service.explanations.explain(LOCAL, turn.id, None, "UTC")
        assert explained.explanation.verdict is Verdict.RUNNING


@on_all
async def test_an_idle_agent_is_closed_when_a_task_waits(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say answer")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "answer")
        task = await host.add_task(group, "say task")
        assert (await host.ended(task)).state is RunState.SUCCEEDED
        ended = await host.ended(turn)
        assert (ended.state, ended.result) == (RunState.SUCCEEDED, {"messages": 1, "answers": 1})
        assert host.journal(group) == ["start messages", "end", "start task", "end"]


@in_both
async def test_a_working_agent_is_not_closed_and_yields_when_it_is_idle(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "wait", "say answer")
        await host.ask_turn(group)
        await host.until_file(group, "waiting")
        task = await host.add_task(group, "say task")
        await host.until(lambda: waits(host, task, group_lane("family")))
        assert host.journal(group) == ["start messages"]
        go(host, group)
        assert (await host.ended(task)).state is RunState.SUCCEEDED
        assert await host.answers(group) == ["answer", "task"]


@on_all
async def test_an_idle_agent_gives_its_place_to_another_group(agents: OpenAgents) -> None:
    """No group keeps the others waiting: the limit is one, and the idle agent of the first group yields."""
    async with agents(limit=1) as host:
        one, two = await host.add_group("one"), await host.add_group("two")
        await host.post(one, "say one")
        await host.ask_turn(one)
        await host.until_answers(one, "one")
        await host.post(two, "say two")
        await host.ask_turn(two)
        await host.until_answers(two, "two")


@in_both
async def test_messages_are_not_piped_into_a_task(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, "wait\nsay task")
        await host.until_file(group, "waiting")
        await host.post(group, "say answer")
        turn = await host.ask_turn(group)
        host.target.notify("family")
        go(host, group)
        assert (await host.ended(task)).result == "task"
        await host.until_answers(group, "task", "answer")
        assert host.journal(group)[:3] == ["start task", "end", "start messages"]
        assert len(await host.runs(turn)) == 1


@in_both
async def test_a_task_that_is_paused_or_cancelled_while_it_waits_does_not_run(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        busy = await host.add_task(group, "wait\nsay busy")
        await host.until_file(group, "waiting")
        paused, cancelled = await host.add_task(group, "say paused"), await host.add_task(group, "say cancelled")
        for task in (paused, cancelled):
            await host.until(lambda task=task: waits(host, task, group_lane("family")))
        await host.app.service.tasks.pause(LOCAL, paused.id)
        await host.app.service.tasks.cancel(LOCAL, cancelled.id)
        go(host, group)
        await host.ended(busy)
        last = await host.add_task(group, "say last")
        await host.ended(last)
        assert await host.answers(group) == ["busy", "last"]


@in_both
async def test_an_idle_agent_is_closed_when_the_node_stops(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say answer")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "answer")
        directory = host.target.workspace.group("family")
    assert (directory / "journal").read_text(encoding="utf-8").splitlines() == ["start messages", "end"]
    async with agents() as host:
        assert [run.state for run in await host.runs(turn)] == [RunState.SUCCEEDED]


@in_both
async def test_an_idle_agent_is_closed_after_its_idle_time(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group(idle=timedelta(seconds=1))
        await host.post(group, "say answer")
        run = await host.ended(await host.ask_turn(group))
        assert run.state is RunState.SUCCEEDED
        assert host.journal(group) == ["start messages", "end"]


@in_both
async def test_a_task_that_runs_is_not_queued_a_second_time(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, "wait\nsay done", when="every 1s")
        await host.until_file(group, "waiting")
        await host.until(lambda: has_skipped(host, task))
        with pytest.raises(Conflict):
            await host.app.service.tasks.run_now(LOCAL, task.id)
        assert host.journal(group) == ["start task"]
        await host.app.service.tasks.pause(LOCAL, task.id)
        go(host, group)
        await host.until_answers(group, "done")


@in_both
async def test_a_task_that_waits_is_not_queued_a_second_time(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        busy = await host.add_task(group, "wait\nsay busy")
        await host.until_file(group, "waiting")
        task = await host.add_task(group, "say once", when="every 1h")
        await host.app.service.tasks.run_now(LOCAL, task.id)
        await host.until(lambda: waits(host, task, group_lane("family")))
        with pytest.raises(Conflict):
            await host.app.service.tasks.run_now(LOCAL, task.id)
        go(host, group)
        await host.ended(busy)
        await host.until_answers(group, "busy", "once")
        assert len(await host.runs(task)) == 1


async def has_skipped(host: AgentHost, task: Task) -> bool:
    return any(run.reason is Reason.OVERLAP for run in await host.runs(task))


@in_both
async def test_what_is_asked_for_while_the_node_stops_waits_for_the_next_start(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        assert host.app.engine is not None
        await host.app.engine.stop()
        await host.post(group, "say answer")
        task, turn = await host.add_task(group, "say task"), await host.ask_turn(group)
        assert (await host.runs(task), await host.runs(turn), host.journal(group)) == ([], [], [])
    async with agents() as host:
        await host.until_answers(group, "task", "answer")
        assert host.journal(group)[:3] == ["start task", "end", "start messages"]
