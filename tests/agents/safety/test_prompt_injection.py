"""Prompt injection: whatever an agent is talked into, only a plain prompt to its own group runs without a person."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from horae.model.accounts.principal import Principal
from horae.model.reason import Reason
from horae.model.task import PauseCause, Target, TaskState
from horae.service.accounts.approval_policy import STRICT_POLICY, digest_of
from horae.service.tasks.edits import Edits
from tests.agents.safety.group_harness import add_group, add_prompt, agent_principal, prompt_request, prompt_target
from tests.agents.safety.injections import AGENT, COMMAND, INJECTED, check_waits_for_a_person, make_groups, state_of
from tests.unit.service.service_harness import CHIEF, code_of, open_harness

REFUSED: dict[str, tuple[Target, str]] = {
    "a prompt to another group": (prompt_target("work"), "agent_owner"),
    "a prompt to a group in other letters": (prompt_target("Family"), "agent_owner"),
    "a prompt without a group": (Target("agent", "{}"), "agent_owner"),
    "a turn of messages": (prompt_target("family", messages=True), "agent_messages"),
}


async def test_prompt_to_the_own_group_needs_no_approval() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        task = await harness.tasks.create(AGENT, prompt_request("family", budget={"runs": 2}))
        assert await state_of(harness, task) == (TaskState.ACTIVE, None)
        assert await code_of(harness.service.approvals.approve(CHIEF, task.id, digest_of(task))) == "nothing_to_approve"


@pytest.mark.parametrize("what", INJECTED)
async def test_anything_else_waits_for_a_person(what: str) -> None:
    async with open_harness() as harness:
        await check_waits_for_a_person(harness, INJECTED[what])


@pytest.mark.parametrize("what", INJECTED)
async def test_prompt_that_an_agent_edits_into_something_else_is_paused(what: str) -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        task = await harness.tasks.create(AGENT, prompt_request("family"))
        injected = INJECTED[what]
        edits = Edits(target=injected.target, options=injected.options)
        await harness.tasks.edit(AGENT, task.id, edits)
        assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


@pytest.mark.parametrize("what", REFUSED)
async def test_prompt_that_can_never_be_its_own_is_refused(what: str) -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        target, code = REFUSED[what]
        assert await code_of(harness.tasks.create(AGENT, prompt_request("family")._replace(target=target))) == code
        task = await harness.tasks.create(AGENT, prompt_request("family"))
        assert await code_of(harness.tasks.edit(AGENT, task.id, Edits(target=target))) == code


async def test_approved_task_that_the_agent_edits_waits_again() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        task = await harness.tasks.create(AGENT, INJECTED["a script"])
        await harness.service.approvals.approve(CHIEF, task.id, digest_of(task))
        assert await state_of(harness, task) == (TaskState.ACTIVE, None)
        worse = prompt_target("family", script="rm -rf /")
        await harness.tasks.edit(AGENT, task.id, Edits(target=worse))
        assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        assert await code_of(harness.service.approvals.approve(AGENT, task.id, digest_of(task))) == "not_for_agents"


async def test_run_of_an_unapproved_task_that_was_imported_is_skipped() -> None:
    """The check right before the start does not rely on the pause."""
    async with open_harness() as harness:
        await make_groups(harness)
        task = await harness.tasks.create(AGENT, INJECTED["a command"])
        outcome = await harness.service.fire_rights.check(task)
        assert outcome is not None
        assert outcome.reason is Reason.AWAITING_APPROVAL  # type: ignore[union-attr]


async def test_main_group_prompts_other_groups() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        await add_group(harness, "main", is_main=True)
        acting = agent_principal("work", agent="main", actor="agent:main")
        task = await harness.tasks.create(acting, prompt_request("work"))
        assert await state_of(harness, task) == (TaskState.ACTIVE, None)
        command = await harness.tasks.create(acting, prompt_request("work")._replace(target=COMMAND))
        assert await state_of(harness, command) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


async def test_agent_with_a_token_of_the_group_is_not_its_agent() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        robot = Principal("group:family", agent="robot", actor="tok_1", via="http")
        task = await harness.tasks.create(robot, prompt_request("family"))
        assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        person = await add_prompt(harness, script="x")
        assert await state_of(harness, person) == (TaskState.ACTIVE, None), "a person needs no approval"


async def test_agent_cannot_make_a_task_of_another_owner() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        foreign = prompt_request("work")._replace(owner="group:work")
        assert await code_of(harness.tasks.create(AGENT, foreign)) == "foreign_owner"


async def test_digest_covers_the_specification_of_the_target() -> None:
    async with open_harness() as harness:
        await make_groups(harness)
        task = await harness.tasks.create(AGENT, INJECTED["a script"])
        seen = {digest_of(task)}
        spec = json.loads(task.target.spec)
        for name, value in (("script", "x"), ("context_mode", "isolated"), ("budget", {"runs": 1})):
            seen.add(digest_of(task._replace(target=Target("agent", json.dumps({**spec, name: value})))))
        seen.add(digest_of(task._replace(payload='{"prompt":"other"}')))
        seen.add(digest_of(task._replace(policies=replace(task.policies, priority=9))))
        assert len(seen) == 6
        assert STRICT_POLICY.needs_approval(task)
