"""Stop of agents: one, a group, or all; live runs end, nothing new starts, and a restart continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.model.accounts.principal import Principal
from horae.model.accounts.system_owner import system_owner
from horae.model.outcome import Skipped
from horae.model.reason import Reason
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.service.tasks.task_request import TaskRequest
from horae.wire.tasks.fixes import pause_fixes
from tests.agents.safety.group_harness import add_group, add_prompt, agent_principal, live_run, prompt_request
from tests.unit.service.service_harness import CHIEF, ROOT, ServiceHarness, code_of, open_harness


async def state_of(harness: ServiceHarness, task: Task) -> tuple[TaskState, PauseCause | None]:
    facts = await harness.store.facts(task.id, None)
    assert facts is not None
    return facts.status.state, None if facts.status.pause is None else facts.status.pause.cause


ACTIVE = (TaskState.ACTIVE, None)
STOPPED = (TaskState.PAUSED, PauseCause.AGENT_STOPPED)


@pytest.fixture(params=["memory", "sqlite", "postgres", "mariadb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path}/h.db"
        case _:
            return str(request.getfixturevalue(f"{request.param}_url"))


async def test_stop_of_all_agents_ends_live_runs_and_pauses_their_tasks(store: str) -> None:
    async with open_harness(store) as harness:
        group = await add_group(harness)
        prompt = await add_prompt(harness)
        run = await live_run(harness, prompt)
        own = await harness.tasks.create(agent_principal("family"), prompt_request("family"))
        robot = await harness.make_member("ada", agent="robot", active_tasks=None)
        event = await harness.tasks.create(robot, TaskRequest("tell", "every 1h", Target("event", "{}"), zone="UTC"))
        plain = await harness.add()
        assert await harness.service.agent_stop.get(ROOT) is None
        assert await harness.service.agent_stop.stop_all(CHIEF) == 3
        for task in (prompt, own, event):
            assert await state_of(harness, task) == STOPPED
        assert await state_of(harness, plain) == ACTIVE
        stopping = await harness.runs.get(ROOT, run.id)
        assert stopping.cancel is Reason.CANCELLED
        assert await harness.service.agent_stop.check(group) == Skipped(
            "The agent of its group, or all agents, were stopped.", Reason.AGENT_STOPPED
        )
        outcome = await harness.service.fire_rights.check(own)
        assert isinstance(outcome, Skipped)
        assert outcome.reason is Reason.AGENT_STOPPED
        assert (
            await code_of(harness.tasks.create(agent_principal("family"), prompt_request("family"))) == "agents_stopped"
        )
        assert await code_of(harness.service.approvals.restart_agent(CHIEF, "robot", "ada")) == "agents_stopped"
        switch = await harness.service.agent_stop.get(ROOT)
        assert switch is not None
        assert (switch.by, switch.since) == ("chief", harness.clock.now())


async def test_explanation_names_the_stop_and_the_command() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        prompt = await add_prompt(harness)
        await harness.service.agent_stop.stop_all(CHIEF)
        why = (await harness.explanations.explain(ROOT, prompt.id, None)).explanation
        assert "All agents were stopped. An admin restarts them: horae agent restart --all" in why.english
        assert "所有智能体已被停止" in why.chinese
        facts = await harness.tasks.get(ROOT, prompt.id)
        assert [fix.command for fix in pause_fixes(facts)] == ["horae agent restart --all"]
        await harness.service.agent_stop.restart_all(CHIEF)
        await harness.service.groups.change(CHIEF, "family", is_stopped=True)
        why = (await harness.explanations.explain(ROOT, prompt.id, None)).explanation
        assert "horae group start family" in why.english
        facts = await harness.tasks.get(ROOT, prompt.id)
        assert [fix.command for fix in pause_fixes(facts)] == ["horae group start family"]


async def test_restart_resumes_what_the_stop_paused_and_nothing_else() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        await add_group(harness, "work")
        await add_group(harness, "club")
        prompts = {name: await add_prompt(harness, name) for name in ("family", "work", "club")}
        by_hand = await add_prompt(harness)
        await harness.tasks.pause(CHIEF, by_hand.id, note="holiday")
        await harness.service.groups.change(CHIEF, "work", is_stopped=True)
        await harness.service.agent_stop.stop_all(CHIEF)
        assert await harness.service.agent_stop.stop_all(CHIEF) == 0
        await harness.service.approvals.stop_agent(CHIEF, "club")
        assert await harness.service.agent_stop.restart_all(CHIEF) >= 1
        assert await state_of(harness, prompts["family"]) == ACTIVE
        assert await state_of(harness, prompts["work"]) == STOPPED
        assert await state_of(harness, prompts["club"]) == STOPPED
        assert await state_of(harness, by_hand) == (TaskState.PAUSED, PauseCause.REQUESTED)
        await harness.service.groups.change(CHIEF, "work", is_stopped=False)
        await harness.service.approvals.restart_agent(CHIEF, "club")
        assert await state_of(harness, prompts["work"]) == ACTIVE
        assert await state_of(harness, prompts["club"]) == ACTIVE


async def test_stop_of_a_group_ends_its_turn_and_holds_until_it_is_started() -> None:
    async with open_harness() as harness:
        await add_group(harness)
        system = Principal(system_owner("group:family"), via="system")
        spec = '{"group":"family","messages":true}'
        turn = await harness.tasks.create(system, TaskRequest("turn", "every 1h", Target("agent", spec), zone="UTC"))
        await harness.tasks.run_now(system, turn.id)
        (run,) = await harness.claim()
        prompt = await add_prompt(harness)
        group = await harness.service.groups.change(CHIEF, "family", is_stopped=True)
        assert (await harness.runs.get(ROOT, run.id)).cancel is Reason.CANCELLED
        assert await state_of(harness, prompt) == STOPPED
        assert await harness.service.agent_stop.check(group) is not None
        # The restart of its agent does not start a stopped group.
        await harness.service.approvals.restart_agent(CHIEF, "family")
        assert await state_of(harness, prompt) == STOPPED
        await harness.service.agent_stop.stop_all(CHIEF)
        group = await harness.service.groups.change(CHIEF, "family", is_stopped=False)
        assert await state_of(harness, prompt) == STOPPED
        await harness.service.agent_stop.restart_all(CHIEF)
        assert await state_of(harness, prompt) == ACTIVE
        assert await harness.service.agent_stop.check(group) is None


async def test_stop_of_the_agent_of_a_group_by_its_folder() -> None:
    async with open_harness() as harness:
        group = await add_group(harness)
        prompt = await add_prompt(harness)
        run = await live_run(harness, prompt)
        assert await harness.service.approvals.stop_agent(CHIEF, "family") == 1
        assert (await harness.runs.get(ROOT, run.id)).cancel is Reason.CANCELLED
        assert await harness.service.agent_stop.check(group) is not None
        why = (await harness.explanations.explain(ROOT, prompt.id, None)).explanation
        assert "horae agent restart family --owner group:family" in why.english
        assert await harness.service.approvals.restart_agent(CHIEF, "family") == 1
        assert await harness.service.agent_stop.check(group) is None


async def test_stop_of_an_agent_ends_its_live_runs_only() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot", active_tasks=None)
        other = await harness.make_member("ada", agent="other", active_tasks=None)
        request = TaskRequest("tell", "every 1h", Target("event", "{}"), zone="UTC")
        tasks = [await harness.tasks.create(who, request) for who in (robot, other)]
        harness.clock.advance(3_600)
        runs = {run.task_id: run for run in await harness.claim()}
        await harness.service.approvals.stop_agent(CHIEF, "robot", "ada")
        found = [await harness.runs.get(ROOT, runs[task.id].id) for task in tasks]
        assert [run.cancel for run in found] == [Reason.CANCELLED, None]


async def test_switch_survives_a_restart_of_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/h.db"
    async with open_harness(url) as harness:
        await add_group(harness)
        prompt = await add_prompt(harness)
        await harness.service.agent_stop.stop_all(CHIEF)
    async with open_harness(url) as harness:
        group = await harness.service.groups.find("family")
        assert group is not None
        assert await harness.service.agent_stop.check(group) is not None
        assert await state_of(harness, prompt) == STOPPED
        await harness.service.agent_stop.restart_all(CHIEF)
        assert await state_of(harness, prompt) == ACTIVE
        rows = [row.action for row in (await harness.service.audit.page(ROOT)).items]
        assert {"agent.stop_all", "agent.restart_all"} <= set(rows)


@pytest.mark.parametrize("who", [Principal("ada"), Principal("root", admin=True, agent="robot")])
async def test_only_admins_stop_all_agents(who: Principal) -> None:
    async with open_harness() as harness:
        for call in (harness.service.agent_stop.stop_all, harness.service.agent_stop.restart_all):
            assert await code_of(call(who)) in ("not_allowed", "not_for_agents")
        assert await harness.service.agent_stop.get(ROOT) is None
