"""Lineage of tasks that agents make: stamped by the server from the live run, and limited."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.model.accounts.principal import Principal
from horae.model.accounts.system_owner import system_owner
from horae.model.agents.lineage import Lineage
from horae.model.messages import NewMessage
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.runtime.service_factory import principal_of_run
from horae.service.accounts.approval_policy import ApprovalPolicy
from horae.service.tasks.task_request import TaskRequest
from tests.agents.safety.group_harness import add_group, add_prompt, agent_principal, live_run, prompt_request
from tests.unit.service.service_harness import CHIEF, ServiceHarness, code_of, open_harness, refusal_of


async def make_in(harness: ServiceHarness, run: Run | None = None) -> Task:
    """Make a task as the agent of the group does, in its live run."""
    group = await harness.service.groups.find("family")
    assert group is not None
    lineage = await harness.service.lineages.find(group)
    assert run is None or lineage.run == run.id
    return await harness.tasks.create(agent_principal("family", lineage=lineage), prompt_request("family"))


async def test_line_of_tasks_that_make_each_other_ends() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        task = await add_prompt(harness)
        for depth in range(1, 4):
            run = await live_run(harness, task)
            task = await make_in(harness, run)
            labels = dict(task.labels)
            assert labels["horae/depth"] == str(depth)
            assert labels["horae/run"] == run.id
            await harness.settle(run)
            harness.clock.advance(60)
        await live_run(harness, task)
        refusal = await refusal_of(make_in(harness))
        assert refusal.code == "lineage_too_deep"
        assert refusal.facts == {"depth": 4, "most": 3}


async def test_limit_is_a_setting() -> None:
    async with open_harness() as harness:
        harness = ServiceHarness(harness.store, gate=ApprovalPolicy(max_depth=0))
        await add_group(harness)
        await live_run(harness, await add_prompt(harness))
        assert await code_of(make_in(harness)) == "lineage_too_deep"


async def test_request_that_outlives_its_run_is_as_deep_as_the_run() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        first = await live_run(harness, await add_prompt(harness))
        deep = await make_in(harness)
        await harness.settle(first)
        harness.clock.advance(60)
        run = await live_run(harness, deep)
        await harness.settle(run)
        assert dict((await make_in(harness)).labels)["horae/depth"] == "2"
        harness.clock.advance(60)
        assert dict((await make_in(harness)).labels)["horae/depth"] == "1"


async def test_request_that_was_written_after_the_end_of_a_run_does_not_count_for_it() -> None:
    async with open_harness() as harness:
        group = await add_group(harness)
        first = await live_run(harness, await add_prompt(harness))
        ended = await live_run(harness, await make_in(harness, first))
        await harness.settle(first)
        harness.clock.advance(1)
        await harness.settle(ended)
        end = harness.clock.now()
        harness.clock.advance(1)
        live = await live_run(harness, await add_prompt(harness, when="every 2h"))
        harness.clock.advance(1)
        lineages = harness.service.lineages
        assert await lineages.find(group, end + timedelta(microseconds=1)) == Lineage(live.id, 0)
        assert await lineages.find(group, end) == Lineage(live.id, 1)
        assert await lineages.find(group) == Lineage(live.id, 1)
        # An old file has no longer effect than one of which the time is not known.
        harness.clock.advance(60)
        assert await lineages.find(group, end) == Lineage(live.id, 0)


async def test_turn_of_messages_names_the_message() -> None:
    async with open_harness() as harness:
        group = await add_group(harness)
        system = Principal(system_owner(group.owner), via="system")
        spec = '{"group":"family","messages":true}'
        turn = await harness.tasks.create(system, TaskRequest("turn", "every 1h", Target("agent", spec), zone="UTC"))
        await harness.tasks.run_now(system, turn.id)
        (run,) = await harness.claim()
        now = harness.clock.now()
        message = NewMessage(group.stream, "hello", "ada", "web", "1", now, "[]")
        await harness.store.append_messages(group.owner, [message])
        assert await harness.service.lineages.find(group) == Lineage(run.id, 0, 1)


async def test_group_without_a_run_has_no_lineage() -> None:
    async with open_harness() as harness:
        assert await harness.service.lineages.find(await add_group(harness)) == Lineage()


@pytest.mark.parametrize("label", ["horae/depth", "horae/run", "horae/message", "horae/via"])
async def test_agent_cannot_write_its_own_lineage(label: str) -> None:
    async with open_harness() as harness:
        await add_group(harness)
        forged = prompt_request("family")._replace(labels={label: "0"})
        agent = agent_principal("family", lineage=Lineage("run_1", 2))
        assert await code_of(harness.tasks.create(agent, forged)) == "reserved_label"


async def test_run_of_an_agents_function_continues_the_line() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        run = await live_run(harness, await add_prompt(harness))
        task = await make_in(harness, run)
        principal = await principal_of_run(harness.service, task)
        assert principal.lineage == Lineage(depth=1)
        assert CHIEF.lineage is None
