"""Agents: see only their own tasks, wait for approval, and can be stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from horae.model.accounts.principal import AGENT_LABEL, AGENT_QUOTAS, LOCAL, Principal
from horae.model.change import Facts
from horae.model.inputs.placeholders import fill_placeholders, recognise_template
from horae.model.outcome import Failed
from horae.model.policy import Policies, to_json
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.accounts.approval_policy import STRICT_POLICY, ApprovalPolicy, rejection_of, with_approval
from horae.service.accounts.approvals import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options, TaskRequest
from horae.testing.factories import HOUR, MINUTE, NOON, a_run, a_task
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ServiceHarness, code_of, open_harness, refusal_of

HTTP = Target("http", '{"url":"https://example.org/"}')
EVENT = Target("event", "{}")
WISH = TaskRequest("call home", "every 1h 10 times", HTTP, zone="UTC")
TOLD = WISH._replace(target=EVENT)


async def agent_of(harness: ServiceHarness, name: str = "ada") -> Principal:
    return await harness.make_member(name, agent="robot", active_tasks=None)


async def status_of(harness: ServiceHarness, task: Task) -> tuple[TaskState, PauseCause | None]:
    facts = await harness.store.facts(task.id, None)
    assert facts is not None
    return facts.status.state, None if facts.status.pause is None else facts.status.pause.cause


# --- approval ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [HTTP, Target("command", '{"argv":["true"]}'), Target("unheard-of", "{}"), Target("function", '{"name":"f"}')],
)
async def test_task_with_an_external_target_waits_for_approval(target: Target) -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH._replace(target=target))
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        harness.advance(2 * HOUR)
        assert await harness.claim() == []
        (need,) = (await harness.service.overview.now(ADA)).needs
        assert need.kind == "awaiting_approval"
        facts = await harness.service.approvals.approve(ADA, task.id, digest_of(task))
        assert facts.status.state is TaskState.ACTIVE
        assert not STRICT_POLICY.awaits_approval(facts.task)
        harness.advance(HOUR)
        assert len(await harness.claim()) == 1


WATER = Target("function", '{"name":"garden.water"}')


@pytest.mark.parametrize(("target", "allowed"), [(EVENT, ()), (WATER, ("garden.water",)), (WATER, ("*",))])
async def test_prompt_and_allowed_function_need_no_approval(target: Target, allowed: tuple[str, ...]) -> None:
    async with open_harness() as harness:
        harness = ServiceHarness(harness.store, gate=ApprovalPolicy(frozenset(allowed)))
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH._replace(target=target))
        assert await status_of(harness, task) == (TaskState.ACTIVE, None)
        assert await code_of(harness.service.approvals.approve(ADA, task.id, digest_of(task))) == "nothing_to_approve"
        mine = await harness.add(who=ADA, target=HTTP)
        assert await status_of(harness, mine) == (TaskState.ACTIVE, None), "a user needs no approval"


WAYS_AROUND: dict[str, Callable[[ServiceHarness, Principal, Task], Awaitable[object]]] = {
    "resume": lambda harness, who, task: harness.tasks.resume(who, task.id),
    "run now": lambda harness, who, task: harness.tasks.run_now(who, task.id),
    "backfill": lambda harness, who, task: harness.tasks.backfill(who, task.id, NOON, NOON + HOUR),
    "a pause that ends": lambda harness, who, task: harness.tasks.pause(who, task.id, until=NOON + HOUR),
}


@pytest.mark.parametrize("way", WAYS_AROUND)
async def test_no_operation_runs_an_unapproved_task(way: str) -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH)
        for who in (robot, ADA, CHIEF, LOCAL):
            refusal = await refusal_of(WAYS_AROUND[way](harness, who, task))
            assert refusal.code == "awaiting_approval"
            assert digest_of(task) in refusal.in_language("en").hint
        await harness.tasks.pause(robot, task.id, note="again")
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        harness.advance(5 * HOUR)
        assert await harness.claim() == []


async def test_task_created_paused_waits_for_approval() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH, paused="not yet")
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


EDITS: dict[str, Edits] = {
    "name": Edits(name="other"),
    "when": Edits(when="every 2h 10 times"),
    "target": Edits(target=Target("http", '{"url":"https://example.org/other"}')),
    "payload": Edits(payload="[1]"),
    "labels": Edits(labels={"room": "b"}),
    "policies": Edits(options=Options(priority=7)),
}


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("by", ["robot", "its owner", "an admin"])
async def test_any_edit_voids_the_approval_and_pauses_again(what: str, by: str) -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        who = {"robot": robot, "its owner": ADA, "an admin": CHIEF}[by]
        task = await harness.tasks.create(robot, WISH)
        await harness.service.approvals.approve(ADA, task.id, digest_of(task))
        edited = await harness.tasks.edit(who, task.id, EDITS[what])
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        assert await code_of(harness.service.approvals.approve(ADA, task.id, digest_of(task))) == "digest_changed"
        harness.advance(5 * HOUR)
        assert await harness.claim() == []
        await harness.service.approvals.approve(ADA, task.id, digest_of(edited.after))
        assert await status_of(harness, task) == (TaskState.ACTIVE, None)


async def test_an_edit_that_changes_nothing_voids_nothing() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH._replace(key="k"))
        after = await harness.service.approvals.approve(ADA, task.id, digest_of(task))
        await harness.tasks.edit(robot, task.id, Edits(name=task.name))
        await harness.tasks.edit(ADA, task.id, Edits(labels=dict(after.task.labels)))
        await harness.tasks.declare(robot, WISH._replace(key="k"))
        assert await status_of(harness, task) == (TaskState.ACTIVE, None)
        again = await harness.service.approvals.approve(ADA, task.id, digest_of(task))
        assert again.task.version == after.task.version, "twice is once"


async def test_edit_to_an_external_target_needs_approval() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, TOLD._replace(key="k"))
        await harness.tasks.declare(robot, WISH._replace(key="k"))
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


async def test_agent_cannot_set_the_approval_label() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH)
        forged = Edits(labels={"horae/approved": digest_of(task)})
        for who in (robot, ADA, CHIEF):
            assert await code_of(harness.tasks.edit(who, task.id, forged)) == "reserved_label"


async def test_failed_task_edited_by_an_agent_needs_approval_before_run_or_retry() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        wish = WISH._replace(options=Options(retries=0, give_up_after=1))
        task = await harness.tasks.create(robot, wish)
        await harness.service.approvals.approve(ADA, task.id, digest_of(task))
        failed = await harness.run_due(HOUR, Failed("no", permanent=True))
        assert (await status_of(harness, task))[0] is TaskState.FAILED
        edited = await harness.tasks.edit(robot, task.id, Edits(payload="[2]"))
        for call in (
            harness.tasks.run_now(robot, task.id),
            harness.tasks.resume(robot, task.id),
            harness.runs.retry(robot, failed.id),
            harness.runs.retry(ADA, failed.id),
        ):
            assert await code_of(call) == "awaiting_approval"
        await harness.service.approvals.approve(ADA, task.id, digest_of(edited.after))
        await harness.tasks.resume(robot, task.id)


async def test_approval_rights_by_role() -> None:
    async with open_harness() as harness:
        robot, approve = await agent_of(harness), harness.service.approvals.approve
        viewer = ADA._replace(scopes=frozenset())
        task = await harness.tasks.create(robot, WISH)
        digest = digest_of(task)
        assert await code_of(approve(robot, task.id, digest)) == "not_for_agents"
        assert await code_of(approve(viewer, task.id, digest)) == "not_allowed"
        assert await code_of(approve(BOB, task.id, digest)) == "no_such_task"
        for wrong in ("", "0" * 64, digest.upper(), "汉"):
            assert await code_of(approve(ADA, task.id, wrong)) == "digest_changed"
        await approve(CHIEF, task.id, digest)
        (row, *_) = (await harness.service.audit.page(CHIEF)).items
        assert (row.action, row.subject, row.owner) == ("task.approve", task.id, "ada")
        assert dict(row.detail) == {"digest": digest}


async def test_rejected_task_is_cancelled_and_keeps_the_reason() -> None:
    async with open_harness() as harness:
        robot, reject = await agent_of(harness), harness.service.approvals.reject
        viewer = ADA._replace(scopes=frozenset())
        task = await harness.tasks.create(robot, WISH)
        assert await code_of(reject(robot, task.id)) == "not_for_agents"
        assert await code_of(reject(viewer, task.id)) == "not_allowed"
        assert await code_of(reject(BOB, task.id)) == "no_such_task"
        for wrong in (" ", "two\nlines", "x" * 201):
            assert await code_of(reject(ADA, task.id, wrong)) == "bad_text"
        facts = await reject(CHIEF, task.id, "每天两次就够了")
        assert facts.status.state is TaskState.CANCELLED
        assert rejection_of((await harness.tasks.get(robot, task.id)).task) == "每天两次就够了"
        (row, *_) = (await harness.service.audit.page(CHIEF)).items
        assert (row.action, row.subject, dict(row.detail)) == ("task.reject", task.id, {"reason": "每天两次就够了"})
        assert (await reject(ADA, task.id, "again")).task == facts.task
        silent = await harness.tasks.create(robot, WISH)
        assert rejection_of((await reject(ADA, silent.id)).task) == ""
        own = await harness.add()
        assert await code_of(reject(ADA, own.id)) == "nothing_to_approve"


async def test_approval_counts_towards_the_task_quota_of_the_approver() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, WISH)
        ada = await harness.make_member("ada", active_tasks=1)
        await harness.add(who=ada)
        assert await code_of(harness.service.approvals.approve(ada, task.id, digest_of(task))) == "too_many_tasks"
        assert await status_of(harness, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


# --- what a guest sees ---------------------------------------------------------------------------------------------


async def tasks_visible_to_agent(harness: ServiceHarness) -> tuple[Principal, Facts, Facts]:
    """One task that it made itself, and one of its owner's with everything that a task can have."""
    robot = await agent_of(harness)
    own = await harness.tasks.create(robot, TOLD._replace(name="its own", key="own"))
    other = await harness.add("every 1h", name="not its own", key="other", labels={"room": "a"})
    harness.advance(HOUR)
    for run in await harness.claim():
        await harness.settle(run, Failed("no", permanent=True))
    return robot, await harness.tasks.get(ADA, own.id), await harness.tasks.get(ADA, other.id)


async def test_agent_sees_only_its_own_tasks() -> None:
    async with open_harness() as harness:
        robot, own, other = await tasks_visible_to_agent(harness)
        tasks, runs = harness.tasks, harness.runs
        assert [each.task.id for each in (await tasks.page(robot)).items] == [own.task.id]
        assert [each.task.id for each in (await tasks.page(robot, TaskFilter(labels=(("room", "a"),)))).items] == []
        assert [each.task.id for each in await tasks.upcoming(robot)] == [own.task.id]
        assert set(await tasks.latest(robot, [own, other])) == {own.task.id}
        assert (await tasks.find_by_name(robot, "own")).task == own.task
        assert {run.task_id for run in (await runs.page(robot)).items} == {own.task.id}
        assert len((await runs.page(robot, RunFilter(task_id=own.task.id))).items) == 1
        assert (await runs.page(robot, RunFilter(task_id=other.task.id))).items == ()
        assert await tasks.find_by_key(robot, "other") is None
        assert await tasks.find_by_key(robot, "own") is not None


async def test_task_of_another_creator_is_absent_for_an_agent() -> None:
    async with open_harness() as harness:
        robot, _, other = await tasks_visible_to_agent(harness)
        (run,) = (await harness.runs.page(ADA, RunFilter(task_id=other.task.id))).items
        by_task: list[Callable[[str], Awaitable[object]]] = [
            lambda name: harness.tasks.get(robot, name),
            lambda name: harness.tasks.find_by_name(robot, name),
            lambda name: harness.tasks.edit(robot, name, Edits(name="x")),
            lambda name: harness.tasks.pause(robot, name),
            lambda name: harness.tasks.resume(robot, name),
            lambda name: harness.tasks.cancel(robot, name),
            lambda name: harness.tasks.delete(robot, name),
            lambda name: harness.tasks.run_now(robot, name),
            lambda name: harness.tasks.skip_next(robot, name),
            lambda name: harness.tasks.backfill(robot, name, NOON, NOON + HOUR),
            lambda name: harness.explanations.explain(robot, name, None),
        ]
        for ask in by_task:
            for name in (other.task.id, "tsk_absent"):
                assert await code_of(ask(name)) == "no_such_task"
        for name in ("other", "not its own"):
            assert await code_of(harness.tasks.find_by_name(robot, name)) == "no_such_task"
        by_run: list[Callable[[str], Awaitable[object]]] = [
            lambda name: harness.runs.get(robot, name),
            lambda name: harness.runs.lines(robot, name),
            lambda name: harness.runs.cancel(robot, name),
            lambda name: harness.runs.retry(robot, name),
        ]
        for ask in by_run:
            for name in (run.id, "run_absent"):
                assert await code_of(ask(name)) == "no_such_run"
        assert (await harness.tasks.preview_declaration(robot, TOLD._replace(key="other")))[0] is None
        assert (await harness.tasks.declare(robot, TOLD._replace(key="other"))).key == "agent:robot/other"
        assert (await harness.tasks.get(ADA, other.task.id)) == other


async def test_agents_cannot_call_other_services() -> None:
    async with open_harness() as harness:
        robot, own, _ = await tasks_visible_to_agent(harness)
        service = harness.service
        calls: list[Awaitable[object]] = [
            service.events.after(robot, 0),
            service.overview.now(robot),
            service.secrets.set(robot, "a", "b"),
            service.secrets.names(robot),
            service.secrets.remove(robot, "a"),
            service.tokens.make(robot, name="more"),
            service.tokens.page(robot),
            service.tokens.get(robot, robot.actor),
            service.tokens.revoke(robot, robot.actor),
            service.accounts.page(robot),
            service.accounts.get(robot, "ada"),
            service.accounts.put(robot, "ada", zone="UTC"),
            service.lanes.all(robot),
            service.lanes.limit(robot, "ada/agent:robot", 100),
            service.audit.page(robot),
            service.approvals.stop_agent(robot, "robot"),
            service.approvals.restart_agent(robot, "robot"),
            service.declared_tasks.register_start(robot, {}),
            service.tasks.import_history(robot, own.task.id, ()),
        ]
        for call in calls:
            assert await code_of(call) == "not_for_agents"
        for call in (service.nodes.all(robot), service.accounts.revoke(robot, "bob"), service.audit.verify(robot)):
            assert await code_of(call) == "not_allowed"


async def test_local_agent_has_the_rights_of_an_agent() -> None:
    """Whatever else its principal says: an agent is no admin."""

    async with open_harness() as harness:
        robot = LOCAL._replace(agent="robot", via="mcp", quotas=AGENT_QUOTAS)
        other = await harness.add(who=ADA)
        assert await code_of(harness.tasks.get(robot, other.id)) == "no_such_task"
        assert await code_of(harness.service.nodes.all(robot)) == "not_allowed"
        assert await code_of(harness.tasks.create(robot, TOLD._replace(owner="ada"))) == "foreign_owner"
        task = await harness.tasks.create(robot, TOLD)
        assert task.labels == (("horae/agent", "robot"), ("horae/via", "mcp"))
        elsewhere = robot._replace(owner="ada")
        assert await code_of(harness.tasks.get(elsewhere, task.id)) == "no_such_task"


async def test_agent_finds_its_runs_among_many_others() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        own = await harness.tasks.create(robot, TOLD._replace(when="in 1m"))
        harness.advance(MINUTE)
        (run,) = await harness.claim()
        await harness.settle(run)
        await harness.add("every 1m")
        for _ in range(7):
            await harness.run_due(MINUTE)
        page = await harness.runs.page(robot, limit=2)
        assert [each.task_id for each in page.items] == [own.id]


# --- one word stops it ---------------------------------------------------------------------------------------------


async def test_stopping_an_agent_stops_its_tasks_and_no_others() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        approvals = harness.service.approvals
        going = await harness.tasks.create(robot, TOLD)
        resting = await harness.tasks.create(robot, TOLD)
        await harness.tasks.pause(robot, resting.id)
        waking = await harness.tasks.create(robot, TOLD)
        await harness.tasks.pause(robot, waking.id, until=harness.clock.now() + HOUR)
        waiting = await harness.tasks.create(robot, WISH)
        mine = await harness.add(who=ADA)
        assert await approvals.stop_agent(ADA, "robot") == 2
        stopped, asked = (TaskState.PAUSED, PauseCause.AGENT_STOPPED), (TaskState.PAUSED, PauseCause.REQUESTED)
        assert [await status_of(harness, each) for each in (going, waking, resting)] == [stopped, stopped, asked]
        assert await status_of(harness, waiting) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        assert await status_of(harness, mine) == (TaskState.ACTIVE, None)
        harness.advance(HOUR)
        assert [run.task_id for run in await harness.claim()] == [mine.id]
        calls: list[Awaitable[object]] = [
            harness.tasks.create(robot, TOLD),
            harness.tasks.create_many(robot, [TOLD], str),
            harness.tasks.declare(robot, TOLD._replace(key="k")),
            harness.tasks.resume(robot, going.id),
            harness.tasks.resume(robot, resting.id),
            harness.tasks.run_now(robot, going.id),
            harness.tasks.edit(robot, going.id, Edits(name="x")),
            harness.tasks.pause(robot, going.id, until=harness.clock.now() + HOUR),
        ]
        for call in calls:
            assert await code_of(call) == "agent_stopped"
        assert (await harness.tasks.get(robot, going.id)).task == going, "it may still look"
        assert await approvals.stop_agent(ADA, "robot") == 0
        assert await approvals.restart_agent(ADA, "robot") == 2
        assert await status_of(harness, going) == (TaskState.ACTIVE, None)
        assert await status_of(harness, resting) == asked
        await harness.tasks.resume(robot, resting.id)


async def test_stop_agent_rights_by_role() -> None:
    async with open_harness() as harness:
        robot = await agent_of(harness)
        task = await harness.tasks.create(robot, TOLD)
        approvals = harness.service.approvals
        assert await code_of(approvals.stop_agent(BOB, "robot")) == "no_such_agent", "his own, of which there is none"
        assert await status_of(harness, task) == (TaskState.ACTIVE, None)
        assert await code_of(approvals.stop_agent(BOB, "robot", "ada")) == "no_such_owner"
        assert await code_of(approvals.stop_agent(ADA, "a b")) == "bad_agent_name"
        assert await approvals.stop_agent(CHIEF, "robot", "ada") == 1
        rows = [(row.action, row.subject) for row in (await harness.service.audit.page(CHIEF)).items][:2]
        assert rows == [("task.pause", task.id), ("agent.stop", "robot")]


async def test_task_created_while_its_agent_is_stopped_is_blocked() -> None:
    """It looked, was stopped, and only then writes: its pass is not valid any more."""

    async with open_harness() as harness:
        robot = await agent_of(harness)
        real = harness.store.add
        stopped: list[int] = []

        async def slowly(changes: Any) -> None:
            if not stopped:
                stopped.append(await harness.service.approvals.stop_agent(ADA, "robot"))
            await real(changes)

        harness.store.add = slowly  # type: ignore[method-assign]
        assert await code_of(harness.tasks.create(robot, TOLD)) == "agent_stopped"
        assert stopped == [0]
        assert not (await harness.tasks.page(ADA)).items


async def test_waiting_tasks_are_listed_in_pages() -> None:
    async with open_harness() as harness:
        robots = {name: await harness.make_member(name, agent="robot") for name in ("ada", "bob", "eve")}
        waiting = {name: await harness.tasks.create(robot, WISH) for name, robot in robots.items()}
        await harness.tasks.create(robots["ada"], WISH._replace(name="second"))
        approvals = harness.service.approvals
        first = await approvals.page(CHIEF, limit=1)
        assert [facts.task.id for facts in first.items] == [waiting["ada"].id]
        second = await approvals.page(CHIEF, first.after)
        assert [facts.task.owner for facts in second.items] == ["bob", "eve", "ada"], "in the order of creation"
        assert second.after is None
        assert await code_of(approvals.page(CHIEF, "not a cursor")) == "bad_page"
        await approvals.approve(CHIEF, waiting["bob"].id, digest_of(waiting["bob"]))
        bob = await harness.make_member("bob")
        assert (await approvals.page(bob)).items == ()
        eve = await harness.make_member("eve")
        assert [facts.task.id for facts in (await approvals.page(eve)).items] == [waiting["eve"].id]
        assert await code_of(approvals.page(robots["eve"])) == "not_for_agents"


async def test_agents_are_listed_with_limits_and_state_in_pages() -> None:
    async with open_harness() as harness:
        for owner, agent in (("ada", "robot"), ("ada", "helper"), ("bob", "robot")):
            await harness.make_member(owner, agent=agent)
        await harness.service.agents.put(CHIEF, "robot", {"active_tasks": 2}, "bob")
        await harness.service.approvals.stop_agent(CHIEF, "helper", "ada")
        agents = harness.service.agents
        first = await agents.page(CHIEF, limit=2)
        assert [(each.owner, each.name, each.stopped) for each in first.items] == [
            ("ada", "helper", True),
            ("ada", "robot", False),
        ]
        second = await agents.page(CHIEF, first.after, 2)
        assert [(each.owner, each.quotas.active_tasks) for each in second.items] == [("bob", 2)]
        assert second.after is None
        bob = await harness.make_member("bob")
        assert [each.owner for each in (await agents.page(bob)).items] == ["bob"]


def test_approval_digests_the_template() -> None:
    """Each run has other values; what a person approved is the template, until an edit changes it."""
    labels = ((AGENT_LABEL, "robot"),)
    template = a_task(target=HTTP, payload='{"at":"{horae.planned}"}', labels=labels)
    task = with_approval(recognise_template(template))
    assert not STRICT_POLICY.awaits_approval(task)
    assert STRICT_POLICY.awaits_approval(task._replace(payload='{"at":"{horae.last}"}'))
    assert fill_placeholders(task, a_run(task), "key").payload == '{"at":"2026-03-01T12:00:00+00:00"}'


def test_digest_of_a_task_without_newer_policies_stays_the_same() -> None:
    """An upgrade must not ask for approval of what is approved already."""
    assert set(to_json(Policies())) == {
        "missed",
        "overlap",
        "retry",
        "give_up_after",
        "timeout",
        "max_duration",
        "guarantee",
        "priority",
        "notify_after",
    }
    assert set(to_json(Policies())["retry"]) == {"attempts", "backoff", "factor", "max", "jitter"}
    task = a_task()
    assert digest_of(task._replace(policies=Policies(start_within=HOUR))) != digest_of(task)
