"""A task runs with at most the rights that its owner and its agent have when it is due, on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.model.accounts.account import Agent
from horae.model.accounts.principal import AGENT_QUOTAS, LOCAL, Principal, Role
from horae.model.lanes.lane import agent_lane
from horae.model.outcome import Failed, Skipped
from horae.model.reason import Reason
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.accounts.approval_policy import ApprovalPolicy
from horae.service.accounts.approvals import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import HOUR, MINUTE
from tests.unit.service.service_harness import ADA, CHIEF, ServiceHarness, code_of, open_harness

EVENT = Target("event", "{}")
PROMPT = TaskRequest("look", "every 1h 20 times", EVENT, zone="UTC")


@pytest.fixture(params=["memory", "sqlite", "postgres", "mariadb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path}/h.db"
        case _:
            return str(request.getfixturevalue(f"{request.param}_url"))


async def state_of(harness: ServiceHarness, task: Task) -> tuple[TaskState, PauseCause | None]:
    facts = await harness.store.facts(task.id, None)
    assert facts is not None
    return facts.status.state, None if facts.status.pause is None else facts.status.pause.cause


async def reasons(harness: ServiceHarness, task: Task) -> list[Reason | None]:
    return [run.reason for run in (await harness.store.runs(RunFilter(task_id=task.id))).items]


async def agent_of_ada(harness: ServiceHarness) -> Principal:
    return await harness.make_member("ada", agent="robot", active_tasks=None)


async def tokens_of(harness: ServiceHarness, agent: str = "robot") -> list[str]:
    page = await harness.service.tokens.page(CHIEF, "ada")
    return [each.id for each in page.items if each.agent == agent and each.revoked is None]


# --- the token of an agent -----------------------------------------------------------------------------------------


async def last_token(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    task = await harness.tasks.create(robot, PROMPT)
    person = await harness.add(who=ADA)
    (token,) = await tokens_of(harness)
    await harness.service.tokens.revoke(CHIEF, token)
    assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.OWNER_REVOKED)
    assert await state_of(harness, person) == (TaskState.ACTIVE, None)
    harness.advance(2 * HOUR)
    assert [run.task_id for run in await harness.claim()] == [person.id]
    why = (await harness.explanations.explain(ADA, task.id, None, "UTC")).explanation
    assert why.reason is Reason.OWNER_REVOKED
    assert "the agent that made it" in why.english
    assert "智能体" in why.chinese
    for call in (
        harness.tasks.resume(ADA, task.id),
        harness.tasks.run_now(ADA, task.id),
        harness.service.approvals.restart_agent(ADA, "robot"),
    ):
        assert await code_of(call) == "agent_revoked"


async def test_revoking_the_last_token_of_an_agent_stops_its_tasks(store: str) -> None:
    async with open_harness(store) as here:
        await last_token(here)


async def one_of_two_tokens(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    await agent_of_ada(harness)
    task = await harness.tasks.create(robot, PROMPT)
    first, second = await tokens_of(harness)
    await harness.service.tokens.revoke(CHIEF, first)
    assert await state_of(harness, task) == (TaskState.ACTIVE, None)
    harness.advance(HOUR)
    assert len(await harness.claim()) == 1
    await harness.service.tokens.revoke(CHIEF, second)
    assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.OWNER_REVOKED)


async def test_agent_goes_on_while_it_has_another_valid_token(store: str) -> None:
    async with open_harness(store) as here:
        await one_of_two_tokens(here)


async def expired_token(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    await harness.service.tokens.make(
        CHIEF, owner="ada", name="short", agent="robot", expires=harness.clock.now() + MINUTE
    )
    task = await harness.tasks.create(robot, PROMPT)
    harness.advance(2 * MINUTE)
    (valid,) = [each.id for each in (await harness.service.tokens.page(CHIEF, "ada")).items if each.expires is None]
    await harness.service.tokens.revoke(CHIEF, valid)
    assert (await state_of(harness, task))[1] is PauseCause.OWNER_REVOKED


async def test_expired_token_keeps_no_agent_going() -> None:
    async with open_harness() as here:
        await expired_token(here)


async def new_token(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    task = await harness.tasks.create(robot, PROMPT)
    await harness.service.tokens.revoke(CHIEF, (await tokens_of(harness))[0])
    assert (await harness.service.agents.get(CHIEF, "robot", "ada")).revoked
    again = await agent_of_ada(harness)
    assert not (await harness.service.agents.get(CHIEF, "robot", "ada")).revoked
    assert (await state_of(harness, task))[1] is PauseCause.OWNER_REVOKED, "a person decides what goes on"
    assert await code_of(harness.tasks.resume(again, task.id)) == "agent_revoked"
    assert await harness.service.approvals.restart_agent(ADA, "robot") == 1
    assert await state_of(harness, task) == (TaskState.ACTIVE, None)
    harness.advance(HOUR)
    assert len(await harness.claim()) == 1


async def test_new_token_and_restart_resume_the_tasks(store: str) -> None:
    async with open_harness(store) as here:
        await new_token(here)


async def moved_lane(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    task = await harness.tasks.create(robot, PROMPT)
    await harness.tasks.edit(ADA, task.id, Edits(lane="press"))
    await harness.service.tokens.revoke(CHIEF, (await tokens_of(harness))[0])
    assert (await state_of(harness, task))[1] is PauseCause.OWNER_REVOKED
    moved = (await harness.tasks.get(ADA, task.id)).task
    assert moved.lane != agent_lane("ada", "robot")
    assert await harness.service.fire_rights.check(moved) == Skipped(*skipped(Reason.OWNER_REVOKED))


def skipped(reason: Reason) -> tuple[str, Reason]:
    from horae.model.reason import describe_reason  # noqa: PLC0415 - for this helper alone

    return describe_reason(reason), reason


async def test_task_in_another_lane_stops_with_its_agent() -> None:
    async with open_harness() as here:
        await moved_lane(here)


async def daily_limit(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    await harness.tasks.create(robot, PROMPT)
    await harness.service.tokens.revoke(CHIEF, (await tokens_of(harness))[0])
    account = await harness.service.accounts.get(CHIEF, "ada")
    assert await harness.service.accounts.set_agent_spent(account, "robot", None) is not None
    facts = (await harness.store.tasks(TaskFilter())).items[0]
    assert facts.block_reason is Reason.OWNER_REVOKED


async def test_new_day_does_not_give_a_revoked_agent_its_rights_back() -> None:
    async with open_harness() as here:
        await daily_limit(here)


# --- the role of an owner ------------------------------------------------------------------------------------------


async def demoted(harness: ServiceHarness) -> None:
    ada = await harness.make_member("ada", active_tasks=None)
    task = await harness.add(who=ada)
    await harness.service.accounts.put(CHIEF, "ada", role=Role.VIEWER)
    harness.advance(HOUR)
    assert await harness.claim() == []
    assert await reasons(harness, task) == [Reason.OWNER_REVOKED]
    assert await harness.service.daily_quota.enforce(harness.clock.now()) == 0, "a new day lifts nothing"
    await harness.service.accounts.put(CHIEF, "ada", note="still a viewer")
    harness.advance(HOUR)
    assert await harness.claim() == []
    await harness.service.accounts.put(CHIEF, "ada", role=Role.MEMBER)
    harness.advance(HOUR)
    assert len(await harness.claim()) == 1


async def test_owner_that_becomes_a_viewer_fires_nothing(store: str) -> None:
    async with open_harness(store) as here:
        await demoted(here)


async def made_a_viewer(harness: ServiceHarness) -> None:
    task = await harness.add(who=ADA)
    await harness.service.accounts.put(CHIEF, "ada", role=Role.VIEWER)
    harness.advance(HOUR)
    assert await harness.claim() == []
    assert await reasons(harness, task) == [Reason.OWNER_REVOKED]
    await harness.service.accounts.put(CHIEF, "cat", role=Role.VIEWER)
    assert not (await harness.service.accounts.get(CHIEF, "cat")).is_demoted, "a viewer without tasks needs no bar"


async def test_owner_with_tasks_that_is_made_a_viewer_fires_nothing(store: str) -> None:
    async with open_harness(store) as here:
        await made_a_viewer(here)


# --- quotas --------------------------------------------------------------------------------------------------------


async def lowered(harness: ServiceHarness) -> None:
    ada = await harness.make_member("ada")
    fast = await harness.add("every 1m", who=ada)
    slow = await harness.add("every 2h", who=ada)
    await harness.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "1h"})
    assert await state_of(harness, fast) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert await state_of(harness, slow) == (TaskState.ACTIVE, None)
    why = (await harness.explanations.explain(ADA, fast.id, None, "UTC")).explanation
    assert why.reason is Reason.QUOTA
    assert "shortest_interval" in why.english
    await harness.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 5})
    assert (await state_of(harness, fast))[1] is PauseCause.QUOTA
    await harness.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "never"})
    assert await state_of(harness, fast) == (TaskState.ACTIVE, None)


async def test_lowered_interval_pauses_tasks_at_once_and_a_higher_one_resumes_them(store: str) -> None:
    async with open_harness(store) as here:
        await lowered(here)


async def fewer_tasks(harness: ServiceHarness) -> None:
    ada = await harness.make_member("ada")
    tasks = [await harness.add(who=ada) for _ in range(4)]
    asleep = await harness.add(who=ada)
    await harness.tasks.pause(ada, asleep.id, note="mine")
    await harness.service.accounts.put(CHIEF, "ada", quotas={"active_tasks": 2})
    states = [(await state_of(harness, each))[0] for each in tasks]
    assert states == [TaskState.ACTIVE] * 2 + [TaskState.PAUSED] * 2, "the oldest stay"
    assert await state_of(harness, asleep) == (TaskState.PAUSED, PauseCause.REQUESTED)
    await harness.service.accounts.put(CHIEF, "ada", quotas={"payload_bytes": 100})
    assert [(await state_of(harness, each))[0] for each in tasks] == states, "another quota resumes nothing"
    await harness.service.accounts.put(CHIEF, "ada", quotas={"active_tasks": 3})
    assert [(await state_of(harness, each))[0] for each in tasks].count(TaskState.ACTIVE) == 3


async def test_lowered_number_of_tasks_pauses_the_newest(store: str) -> None:
    async with open_harness(store) as here:
        await fewer_tasks(here)


async def agents_quota(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    task = await harness.tasks.create(robot, PROMPT)
    mine = await harness.add("every 1h", who=ADA)
    await harness.service.agents.put(CHIEF, "robot", {"shortest_interval": "2h", "concurrent_runs": 7}, "ada")
    assert await state_of(harness, task) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert await state_of(harness, mine) == (TaskState.ACTIVE, None), "the limit is the agent's alone"
    assert {each.name: each.limit for each in await harness.store.lanes()}[agent_lane("ada", "robot")] == 7
    await harness.service.agents.put(CHIEF, "*", {"concurrent_runs": 3}, "ada")
    assert {each.name: each.limit for each in await harness.store.lanes()}[agent_lane("ada", "robot")] == 7
    await harness.service.agents.put(CHIEF, "robot", {"shortest_interval": "usual"}, "ada")
    assert await state_of(harness, task) == (TaskState.ACTIVE, None)


async def test_lowered_quota_of_an_agent_counts_for_its_tasks(store: str) -> None:
    async with open_harness(store) as here:
        await agents_quota(here)


async def runs_of_today(harness: ServiceHarness) -> None:
    ada = await harness.make_member("ada")
    task = await harness.add("every 1h", who=ada)
    for _ in range(3):
        await harness.run_due(HOUR)
    await harness.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 2})
    harness.advance(HOUR)
    assert await harness.claim() == []
    assert (await reasons(harness, task))[0] is Reason.QUOTA


async def test_lowered_number_of_runs_counts_for_the_next_occurrence(store: str) -> None:
    async with open_harness(store) as here:
        await runs_of_today(here)


async def unfinished_sweep(harness: ServiceHarness) -> None:
    ada = await harness.make_member("ada")
    fast = await harness.add("every 1m", who=ada)
    harness.service.accounts.on_quotas = skip_sweep
    await harness.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "1h"})
    assert await state_of(harness, fast) == (TaskState.ACTIVE, None)
    await harness.service.daily_quota.enforce(harness.clock.now())
    assert await state_of(harness, fast) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert (await harness.store.records("quota.sweep")).items == ()


async def skip_sweep(_owner: str) -> None:
    """A process that dies right after the quota was written."""


async def test_sweep_that_a_process_left_undone_is_done_by_the_next_one() -> None:
    async with open_harness() as here:
        await unfinished_sweep(here)


async def new_owner(harness: ServiceHarness) -> None:
    tasks = [await harness.add("every 1s", who=ADA) for _ in range(30)]
    await harness.service.accounts.put(CHIEF, "ada", zone="Europe/Berlin")
    for task in tasks:
        assert await state_of(harness, task) == (TaskState.ACTIVE, None)


async def test_owner_created_after_its_tasks_pauses_none_of_them() -> None:
    async with open_harness() as here:
        await new_owner(here)


# --- functions -----------------------------------------------------------------------------------------------------


async def function_no_longer_allowed(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    open_house = ServiceHarness(harness.store, gate=ApprovalPolicy(frozenset({"report"})))
    wish = PROMPT._replace(target=Target("function", '{"name":"report"}'))
    task = await open_house.tasks.create(robot, wish)
    assert await state_of(harness, task) == (TaskState.ACTIVE, None)
    assert await open_house.service.fire_rights.check(task) is None
    refused = await harness.service.fire_rights.check(task)
    assert isinstance(refused, Skipped)
    assert refused.reason is Reason.AWAITING_APPROVAL
    approved = await harness.service.approvals.approve(ADA, task.id, digest_of(task))
    assert await harness.service.fire_rights.check(approved.task) is None


async def test_function_that_is_no_longer_allowed_does_not_run() -> None:
    async with open_harness() as here:
        await function_no_longer_allowed(here)


async def not_granted(harness: ServiceHarness) -> None:
    robot = await agent_of_ada(harness)
    await harness.service.secrets.set(CHIEF, "tok", "hush", "ada")
    await harness.service.secrets.grant(CHIEF, "tok", "robot", "ada")
    task = await harness.tasks.create(robot, PROMPT._replace(payload='{"key": {"secret": "tok"}}'))
    assert await harness.service.fire_rights.check(task) is None
    await harness.service.secrets.revoke_grant(CHIEF, "tok", "robot", "ada")
    refused = await harness.service.fire_rights.check(task)
    assert isinstance(refused, Failed)
    assert refused.permanent
    assert await harness.service.fire_rights.check(await harness.add(who=ADA)) is None


async def test_secret_without_a_grant_fails_the_run() -> None:
    async with open_harness() as here:
        await not_granted(here)


async def test_agent_of_an_owner_without_a_record_has_the_usual_quotas() -> None:
    async with open_harness() as here:
        await local_agent_quotas(here)


async def local_agent_quotas(harness: ServiceHarness) -> None:
    await harness.store.set_lane(agent_lane(LOCAL.owner, "helper"), 2)
    found = await harness.service.agents.get(LOCAL, "helper")
    assert found == Agent("helper", LOCAL.owner, AGENT_QUOTAS)
