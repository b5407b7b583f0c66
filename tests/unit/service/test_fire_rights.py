"""A task runs with at most the rights that its owner and its agent have when it is due, on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.model.accounts.account import Agent
from horae.model.accounts.principal import AGENT_QUOTAS, LOCAL, Principal, Role
from horae.model.lane import agent_lane
from horae.model.outcome import Failed, Skipped
from horae.model.reason import Reason
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.accounts.approval_policy import ApprovalPolicy
from horae.service.accounts.approvals import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import HOUR, MINUTE
from tests.unit.service.service_harness import ADA, CHIEF, House, code_of, house_on

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


async def state_of(house: House, task: Task) -> tuple[TaskState, PauseCause | None]:
    facts = await house.store.facts(task.id, None)
    assert facts is not None
    return facts.status.state, None if facts.status.pause is None else facts.status.pause.cause


async def reasons(house: House, task: Task) -> list[Reason | None]:
    return [run.reason for run in (await house.store.runs(RunFilter(task_id=task.id))).items]


async def agent_of_ada(house: House) -> Principal:
    return await house.member("ada", agent="robot", active_tasks=None)


async def tokens_of(house: House, agent: str = "robot") -> list[str]:
    page = await house.service.tokens.page(CHIEF, "ada")
    return [each.id for each in page.items if each.agent == agent and each.revoked is None]


# --- the token of an agent -----------------------------------------------------------------------------------------


async def last_token(house: House) -> None:
    robot = await agent_of_ada(house)
    task = await house.tasks.create(robot, PROMPT)
    person = await house.add(who=ADA)
    (token,) = await tokens_of(house)
    await house.service.tokens.revoke(CHIEF, token)
    assert await state_of(house, task) == (TaskState.PAUSED, PauseCause.OWNER_REVOKED)
    assert await state_of(house, person) == (TaskState.ACTIVE, None)
    house.later(2 * HOUR)
    assert [run.task_id for run in await house.claim()] == [person.id]
    why = (await house.ledger.explain(ADA, task.id, None, "UTC")).explanation
    assert why.reason is Reason.OWNER_REVOKED
    assert "the agent that made it" in why.english
    assert "智能体" in why.chinese
    for call in (
        house.tasks.resume(ADA, task.id),
        house.tasks.run_now(ADA, task.id),
        house.service.approvals.restart_agent(ADA, "robot"),
    ):
        assert await code_of(call) == "agent_revoked"


async def test_revoking_the_last_token_of_an_agent_stops_its_tasks(store: str) -> None:
    async with house_on(store) as here:
        await last_token(here)


async def one_of_two_tokens(house: House) -> None:
    robot = await agent_of_ada(house)
    await agent_of_ada(house)
    task = await house.tasks.create(robot, PROMPT)
    first, second = await tokens_of(house)
    await house.service.tokens.revoke(CHIEF, first)
    assert await state_of(house, task) == (TaskState.ACTIVE, None)
    house.later(HOUR)
    assert len(await house.claim()) == 1
    await house.service.tokens.revoke(CHIEF, second)
    assert await state_of(house, task) == (TaskState.PAUSED, PauseCause.OWNER_REVOKED)


async def test_agent_goes_on_while_it_has_another_valid_token(store: str) -> None:
    async with house_on(store) as here:
        await one_of_two_tokens(here)


async def expired_token(house: House) -> None:
    robot = await agent_of_ada(house)
    await house.service.tokens.make(CHIEF, owner="ada", name="short", agent="robot", expires=house.clock.now() + MINUTE)
    task = await house.tasks.create(robot, PROMPT)
    house.later(2 * MINUTE)
    (valid,) = [each.id for each in (await house.service.tokens.page(CHIEF, "ada")).items if each.expires is None]
    await house.service.tokens.revoke(CHIEF, valid)
    assert (await state_of(house, task))[1] is PauseCause.OWNER_REVOKED


async def test_expired_token_keeps_no_agent_going() -> None:
    async with house_on() as here:
        await expired_token(here)


async def new_token(house: House) -> None:
    robot = await agent_of_ada(house)
    task = await house.tasks.create(robot, PROMPT)
    await house.service.tokens.revoke(CHIEF, (await tokens_of(house))[0])
    assert (await house.service.agents.get(CHIEF, "robot", "ada")).revoked
    again = await agent_of_ada(house)
    assert not (await house.service.agents.get(CHIEF, "robot", "ada")).revoked
    assert (await state_of(house, task))[1] is PauseCause.OWNER_REVOKED, "a person decides what goes on"
    assert await code_of(house.tasks.resume(again, task.id)) == "agent_revoked"
    assert await house.service.approvals.restart_agent(ADA, "robot") == 1
    assert await state_of(house, task) == (TaskState.ACTIVE, None)
    house.later(HOUR)
    assert len(await house.claim()) == 1


async def test_new_token_and_restart_let_the_tasks_go_on(store: str) -> None:
    async with house_on(store) as here:
        await new_token(here)


async def moved_lane(house: House) -> None:
    robot = await agent_of_ada(house)
    task = await house.tasks.create(robot, PROMPT)
    await house.tasks.edit(ADA, task.id, Edits(lane="press"))
    await house.service.tokens.revoke(CHIEF, (await tokens_of(house))[0])
    assert (await state_of(house, task))[1] is PauseCause.OWNER_REVOKED
    moved = (await house.tasks.get(ADA, task.id)).task
    assert moved.lane != agent_lane("ada", "robot")
    assert await house.service.fire_rights.check(moved) == Skipped(*skipped(Reason.OWNER_REVOKED))


def skipped(reason: Reason) -> tuple[str, Reason]:
    from horae.model.reason import describe_reason  # noqa: PLC0415 - for this helper alone

    return describe_reason(reason), reason


async def test_task_in_another_lane_stops_with_its_agent() -> None:
    async with house_on() as here:
        await moved_lane(here)


async def daily_limit(house: House) -> None:
    robot = await agent_of_ada(house)
    await house.tasks.create(robot, PROMPT)
    await house.service.tokens.revoke(CHIEF, (await tokens_of(house))[0])
    account = await house.service.accounts.get(CHIEF, "ada")
    assert await house.service.accounts.set_agent_spent(account, "robot", None) is not None
    facts = (await house.store.tasks(TaskFilter())).items[0]
    assert facts.block_reason is Reason.OWNER_REVOKED


async def test_new_day_does_not_give_a_revoked_agent_its_rights_back() -> None:
    async with house_on() as here:
        await daily_limit(here)


# --- the role of an owner ------------------------------------------------------------------------------------------


async def demoted(house: House) -> None:
    ada = await house.member("ada", active_tasks=None)
    task = await house.add(who=ada)
    await house.service.accounts.put(CHIEF, "ada", role=Role.VIEWER)
    house.later(HOUR)
    assert await house.claim() == []
    assert await reasons(house, task) == [Reason.OWNER_REVOKED]
    assert await house.service.daily_quota.enforce(house.clock.now()) == 0, "a new day lifts nothing"
    await house.service.accounts.put(CHIEF, "ada", note="still a viewer")
    house.later(HOUR)
    assert await house.claim() == []
    await house.service.accounts.put(CHIEF, "ada", role=Role.MEMBER)
    house.later(HOUR)
    assert len(await house.claim()) == 1


async def test_owner_that_becomes_a_viewer_fires_nothing(store: str) -> None:
    async with house_on(store) as here:
        await demoted(here)


async def made_a_viewer(house: House) -> None:
    task = await house.add(who=ADA)
    await house.service.accounts.put(CHIEF, "ada", role=Role.VIEWER)
    house.later(HOUR)
    assert await house.claim() == []
    assert await reasons(house, task) == [Reason.OWNER_REVOKED]
    await house.service.accounts.put(CHIEF, "cat", role=Role.VIEWER)
    assert not (await house.service.accounts.get(CHIEF, "cat")).is_demoted, "a viewer without tasks needs no bar"


async def test_owner_with_tasks_that_is_made_a_viewer_fires_nothing(store: str) -> None:
    async with house_on(store) as here:
        await made_a_viewer(here)


# --- quotas --------------------------------------------------------------------------------------------------------


async def lowered(house: House) -> None:
    ada = await house.member("ada")
    fast = await house.add("every 1m", who=ada)
    slow = await house.add("every 2h", who=ada)
    await house.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "1h"})
    assert await state_of(house, fast) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert await state_of(house, slow) == (TaskState.ACTIVE, None)
    why = (await house.ledger.explain(ADA, fast.id, None, "UTC")).explanation
    assert why.reason is Reason.QUOTA
    assert "shortest_interval" in why.english
    await house.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 5})
    assert (await state_of(house, fast))[1] is PauseCause.QUOTA
    await house.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "never"})
    assert await state_of(house, fast) == (TaskState.ACTIVE, None)


async def test_lowered_interval_pauses_tasks_at_once_and_a_higher_one_resumes_them(store: str) -> None:
    async with house_on(store) as here:
        await lowered(here)


async def fewer_tasks(house: House) -> None:
    ada = await house.member("ada")
    tasks = [await house.add(who=ada) for _ in range(4)]
    asleep = await house.add(who=ada)
    await house.tasks.pause(ada, asleep.id, note="mine")
    await house.service.accounts.put(CHIEF, "ada", quotas={"active_tasks": 2})
    states = [(await state_of(house, each))[0] for each in tasks]
    assert states == [TaskState.ACTIVE] * 2 + [TaskState.PAUSED] * 2, "the oldest stay"
    assert await state_of(house, asleep) == (TaskState.PAUSED, PauseCause.REQUESTED)
    await house.service.accounts.put(CHIEF, "ada", quotas={"payload_bytes": 100})
    assert [(await state_of(house, each))[0] for each in tasks] == states, "another quota resumes nothing"
    await house.service.accounts.put(CHIEF, "ada", quotas={"active_tasks": 3})
    assert [(await state_of(house, each))[0] for each in tasks].count(TaskState.ACTIVE) == 3


async def test_lowered_number_of_tasks_pauses_the_newest(store: str) -> None:
    async with house_on(store) as here:
        await fewer_tasks(here)


async def agents_quota(house: House) -> None:
    robot = await agent_of_ada(house)
    task = await house.tasks.create(robot, PROMPT)
    mine = await house.add("every 1h", who=ADA)
    await house.service.agents.put(CHIEF, "robot", {"shortest_interval": "2h", "concurrent_runs": 7}, "ada")
    assert await state_of(house, task) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert await state_of(house, mine) == (TaskState.ACTIVE, None), "the limit is the agent's alone"
    assert {each.name: each.limit for each in await house.store.lanes()}[agent_lane("ada", "robot")] == 7
    await house.service.agents.put(CHIEF, "*", {"concurrent_runs": 3}, "ada")
    assert {each.name: each.limit for each in await house.store.lanes()}[agent_lane("ada", "robot")] == 7
    await house.service.agents.put(CHIEF, "robot", {"shortest_interval": "usual"}, "ada")
    assert await state_of(house, task) == (TaskState.ACTIVE, None)


async def test_lowered_quota_of_an_agent_counts_for_its_tasks(store: str) -> None:
    async with house_on(store) as here:
        await agents_quota(here)


async def runs_of_today(house: House) -> None:
    ada = await house.member("ada")
    task = await house.add("every 1h", who=ada)
    for _ in range(3):
        await house.ran(HOUR)
    await house.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 2})
    house.later(HOUR)
    assert await house.claim() == []
    assert (await reasons(house, task))[0] is Reason.QUOTA


async def test_lowered_number_of_runs_counts_for_the_next_occurrence(store: str) -> None:
    async with house_on(store) as here:
        await runs_of_today(here)


async def unfinished_sweep(house: House) -> None:
    ada = await house.member("ada")
    fast = await house.add("every 1m", who=ada)
    house.service.accounts.on_quotas = never_swept
    await house.service.accounts.put(CHIEF, "ada", quotas={"shortest_interval": "1h"})
    assert await state_of(house, fast) == (TaskState.ACTIVE, None)
    await house.service.daily_quota.enforce(house.clock.now())
    assert await state_of(house, fast) == (TaskState.PAUSED, PauseCause.QUOTA)
    assert (await house.store.records("quota.sweep")).items == ()


async def never_swept(_owner: str) -> None:
    """A process that dies right after the quota was written."""


async def test_sweep_that_a_process_left_undone_is_done_by_the_next_one() -> None:
    async with house_on() as here:
        await unfinished_sweep(here)


async def new_owner(house: House) -> None:
    tasks = [await house.add("every 1s", who=ADA) for _ in range(30)]
    await house.service.accounts.put(CHIEF, "ada", zone="Europe/Berlin")
    for task in tasks:
        assert await state_of(house, task) == (TaskState.ACTIVE, None)


async def test_owner_that_is_made_for_tasks_that_are_there_pauses_none_of_them() -> None:
    async with house_on() as here:
        await new_owner(here)


# --- functions -----------------------------------------------------------------------------------------------------


async def function_no_longer_allowed(house: House) -> None:
    robot = await agent_of_ada(house)
    open_house = House(house.store, gate=ApprovalPolicy(frozenset({"report"})))
    wish = PROMPT._replace(target=Target("function", '{"name":"report"}'))
    task = await open_house.tasks.create(robot, wish)
    assert await state_of(house, task) == (TaskState.ACTIVE, None)
    assert await open_house.service.fire_rights.check(task) is None
    refused = await house.service.fire_rights.check(task)
    assert isinstance(refused, Skipped)
    assert refused.reason is Reason.AWAITING_APPROVAL
    approved = await house.service.approvals.approve(ADA, task.id, digest_of(task))
    assert await house.service.fire_rights.check(approved.task) is None


async def test_function_that_is_no_longer_allowed_does_not_run() -> None:
    async with house_on() as here:
        await function_no_longer_allowed(here)


async def not_granted(house: House) -> None:
    robot = await agent_of_ada(house)
    await house.service.secrets.set(CHIEF, "tok", "hush", "ada")
    await house.service.secrets.grant(CHIEF, "tok", "robot", "ada")
    task = await house.tasks.create(robot, PROMPT._replace(payload='{"key": {"secret": "tok"}}'))
    assert await house.service.fire_rights.check(task) is None
    await house.service.secrets.revoke_grant(CHIEF, "tok", "robot", "ada")
    refused = await house.service.fire_rights.check(task)
    assert isinstance(refused, Failed)
    assert refused.permanent
    assert await house.service.fire_rights.check(await house.add(who=ADA)) is None


async def test_secret_without_a_grant_fails_the_run() -> None:
    async with house_on() as here:
        await not_granted(here)


async def test_agent_of_an_owner_without_a_record_has_the_usual_quotas() -> None:
    async with house_on() as here:
        await local_agent_quotas(here)


async def local_agent_quotas(house: House) -> None:
    await house.store.set_lane(agent_lane(LOCAL.owner, "helper"), 2)
    found = await house.service.agents.get(LOCAL, "helper")
    assert found == Agent("helper", LOCAL.owner, AGENT_QUOTAS)
