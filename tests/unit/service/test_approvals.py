"""Agents: guests that see only what they made, wait for approval where it matters, and are stopped with one word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from horae.model.accounts.principal import AGENT_QUOTAS, LOCAL, Principal
from horae.model.change import Facts
from horae.model.outcome import Failed
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from horae.service.accounts.approvals import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options, TaskRequest
from horae.testing.factories import HOUR, MINUTE, NOON
from tests.unit.service.service_harness import ADA, BOB, CHIEF, House, code_of, house_on, refusal_of

HTTP = Target("http", '{"url":"https://example.org/"}')
EVENT = Target("event", "{}")
WISH = TaskRequest("call home", "every 1h 10 times", HTTP, zone="UTC")
TOLD = WISH._replace(target=EVENT)


async def robot_of(house: House, name: str = "ada") -> Principal:
    return await house.member(name, agent="robot", active_tasks=None)


async def standing(house: House, task: Task) -> tuple[TaskState, PauseCause | None]:
    facts = await house.store.facts(task.id, None)
    assert facts is not None
    return facts.status.state, None if facts.status.pause is None else facts.status.pause.cause


# --- approval ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [HTTP, Target("command", '{"argv":["true"]}'), Target("unheard-of", "{}"), Target("function", '{"name":"f"}')],
)
async def test_what_reaches_out_waits_for_a_person(target: Target) -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH._replace(target=target))
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        house.later(2 * HOUR)
        assert await house.claim() == []
        (need,) = (await house.service.overview.now(ADA)).needs
        assert need.kind == "awaiting_approval"
        facts = await house.service.approvals.approve(ADA, task.id, digest_of(task))
        assert facts.status.state is TaskState.ACTIVE
        assert not STRICT_POLICY.awaits_approval(facts.task)
        house.later(HOUR)
        assert len(await house.claim()) == 1


WATER = Target("function", '{"name":"garden.water"}')


@pytest.mark.parametrize(("target", "allowed"), [(EVENT, ()), (WATER, ("garden.water",)), (WATER, ("*",))])
async def test_prompt_and_allowed_function_need_no_approval(target: Target, allowed: tuple[str, ...]) -> None:
    async with house_on() as house:
        house = House(house.store, gate=ApprovalPolicy(frozenset(allowed)))
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH._replace(target=target))
        assert await standing(house, task) == (TaskState.ACTIVE, None)
        assert await code_of(house.service.approvals.approve(ADA, task.id, digest_of(task))) == "nothing_to_approve"
        mine = await house.add(who=ADA, target=HTTP)
        assert await standing(house, mine) == (TaskState.ACTIVE, None), "a person needs nobody else's either"


WAYS_AROUND: dict[str, Callable[[House, Principal, Task], Awaitable[object]]] = {
    "resume": lambda house, who, task: house.tasks.resume(who, task.id),
    "run now": lambda house, who, task: house.tasks.run_now(who, task.id),
    "backfill": lambda house, who, task: house.tasks.backfill(who, task.id, NOON, NOON + HOUR),
    "a pause that ends": lambda house, who, task: house.tasks.pause(who, task.id, until=NOON + HOUR),
}


@pytest.mark.parametrize("way", WAYS_AROUND)
async def test_there_is_no_way_around_it_for_anybody(way: str) -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH)
        for who in (robot, ADA, CHIEF, LOCAL):
            refusal = await refusal_of(WAYS_AROUND[way](house, who, task))
            assert refusal.code == "awaiting_approval"
            assert digest_of(task) in refusal.in_language("en").hint
        await house.tasks.pause(robot, task.id, note="again")
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        house.later(5 * HOUR)
        assert await house.claim() == []


async def test_a_task_that_is_made_paused_still_waits_for_approval() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH, paused="not yet")
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


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
    async with house_on() as house:
        robot = await robot_of(house)
        who = {"robot": robot, "its owner": ADA, "an admin": CHIEF}[by]
        task = await house.tasks.create(robot, WISH)
        await house.service.approvals.approve(ADA, task.id, digest_of(task))
        edited = await house.tasks.edit(who, task.id, EDITS[what])
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        assert await code_of(house.service.approvals.approve(ADA, task.id, digest_of(task))) == "digest_changed"
        house.later(5 * HOUR)
        assert await house.claim() == []
        await house.service.approvals.approve(ADA, task.id, digest_of(edited.after))
        assert await standing(house, task) == (TaskState.ACTIVE, None)


async def test_an_edit_that_changes_nothing_voids_nothing() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH._replace(key="k"))
        after = await house.service.approvals.approve(ADA, task.id, digest_of(task))
        await house.tasks.edit(robot, task.id, Edits(name=task.name))
        await house.tasks.edit(ADA, task.id, Edits(labels=dict(after.task.labels)))
        await house.tasks.declare(robot, WISH._replace(key="k"))
        assert await standing(house, task) == (TaskState.ACTIVE, None)
        again = await house.service.approvals.approve(ADA, task.id, digest_of(task))
        assert again.task.version == after.task.version, "twice is once"


async def test_a_harmless_task_that_becomes_another_waits_too() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, TOLD._replace(key="k"))
        await house.tasks.declare(robot, WISH._replace(key="k"))
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


async def test_an_agent_cannot_stamp_itself_approved() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH)
        forged = Edits(labels={"horae/approved": digest_of(task)})
        for who in (robot, ADA, CHIEF):
            assert await code_of(house.tasks.edit(who, task.id, forged)) == "reserved_label"


async def test_what_gave_up_and_was_edited_is_not_run_or_retried_before_it_is_approved() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        wish = WISH._replace(options=Options(retries=0, give_up_after=1))
        task = await house.tasks.create(robot, wish)
        await house.service.approvals.approve(ADA, task.id, digest_of(task))
        failed = await house.ran(HOUR, Failed("no", permanent=True))
        assert (await standing(house, task))[0] is TaskState.FAILED
        edited = await house.tasks.edit(robot, task.id, Edits(payload="[2]"))
        for call in (
            house.tasks.run_now(robot, task.id),
            house.tasks.resume(robot, task.id),
            house.runs.retry(robot, failed.id),
            house.runs.retry(ADA, failed.id),
        ):
            assert await code_of(call) == "awaiting_approval"
        await house.service.approvals.approve(ADA, task.id, digest_of(edited.after))
        await house.tasks.resume(robot, task.id)


async def test_who_may_approve() -> None:
    async with house_on() as house:
        robot, approve = await robot_of(house), house.service.approvals.approve
        viewer = ADA._replace(scopes=frozenset())
        task = await house.tasks.create(robot, WISH)
        digest = digest_of(task)
        assert await code_of(approve(robot, task.id, digest)) == "not_for_agents"
        assert await code_of(approve(viewer, task.id, digest)) == "not_allowed"
        assert await code_of(approve(BOB, task.id, digest)) == "no_such_task"
        for wrong in ("", "0" * 64, digest.upper(), "汉"):
            assert await code_of(approve(ADA, task.id, wrong)) == "digest_changed"
        await approve(CHIEF, task.id, digest)
        (row, *_) = (await house.service.audit.page(CHIEF)).items
        assert (row.action, row.subject, row.owner) == ("task.approve", task.id, "ada")
        assert dict(row.detail) == {"digest": digest}


async def test_approval_takes_a_seat_of_whoever_approves() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, WISH)
        ada = await house.member("ada", active_tasks=1)
        await house.add(who=ada)
        assert await code_of(house.service.approvals.approve(ada, task.id, digest_of(task))) == "too_many_tasks"
        assert await standing(house, task) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)


# --- what a guest sees ---------------------------------------------------------------------------------------------


async def seen_by_robot(house: House) -> tuple[Principal, Facts, Facts]:
    """One task that it made itself, and one of its owner's with everything that a task can have."""
    robot = await robot_of(house)
    own = await house.tasks.create(robot, TOLD._replace(name="its own", key="own"))
    other = await house.add("every 1h", name="not its own", key="other", labels={"room": "a"})
    house.later(HOUR)
    for run in await house.claim():
        await house.settle(run, Failed("no", permanent=True))
    return robot, await house.tasks.get(ADA, own.id), await house.tasks.get(ADA, other.id)


async def test_a_guest_sees_only_what_it_made() -> None:
    async with house_on() as house:
        robot, own, other = await seen_by_robot(house)
        tasks, runs = house.tasks, house.runs
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


async def test_what_a_guest_did_not_make_answers_like_what_is_not_there() -> None:
    async with house_on() as house:
        robot, _, other = await seen_by_robot(house)
        (run,) = (await house.runs.page(ADA, RunFilter(task_id=other.task.id))).items
        by_task: list[Callable[[str], Awaitable[object]]] = [
            lambda name: house.tasks.get(robot, name),
            lambda name: house.tasks.find_by_name(robot, name),
            lambda name: house.tasks.edit(robot, name, Edits(name="x")),
            lambda name: house.tasks.pause(robot, name),
            lambda name: house.tasks.resume(robot, name),
            lambda name: house.tasks.cancel(robot, name),
            lambda name: house.tasks.delete(robot, name),
            lambda name: house.tasks.run_now(robot, name),
            lambda name: house.tasks.skip_next(robot, name),
            lambda name: house.tasks.backfill(robot, name, NOON, NOON + HOUR),
            lambda name: house.ledger.explain(robot, name, None),
        ]
        for ask in by_task:
            for name in (other.task.id, "tsk_absent"):
                assert await code_of(ask(name)) == "no_such_task"
        for name in ("other", "not its own"):
            assert await code_of(house.tasks.find_by_name(robot, name)) == "no_such_task"
        by_run: list[Callable[[str], Awaitable[object]]] = [
            lambda name: house.runs.get(robot, name),
            lambda name: house.runs.lines(robot, name),
            lambda name: house.runs.cancel(robot, name),
            lambda name: house.runs.retry(robot, name),
        ]
        for ask in by_run:
            for name in (run.id, "run_absent"):
                assert await code_of(ask(name)) == "no_such_run"
        assert (await house.tasks.preview_declaration(robot, TOLD._replace(key="other")))[0] is None
        assert (await house.tasks.declare(robot, TOLD._replace(key="other"))).key == "agent:robot/other"
        assert (await house.tasks.get(ADA, other.task.id)) == other


async def test_whatever_else_there_is_is_not_for_agents() -> None:
    async with house_on() as house:
        robot, own, _ = await seen_by_robot(house)
        service = house.service
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


async def test_an_agent_on_the_machine_itself_is_a_guest_too() -> None:
    """Whatever else its principal says: an agent is no admin."""

    async with house_on() as house:
        robot = LOCAL._replace(agent="robot", via="mcp", quotas=AGENT_QUOTAS)
        other = await house.add(who=ADA)
        assert await code_of(house.tasks.get(robot, other.id)) == "no_such_task"
        assert await code_of(house.service.nodes.all(robot)) == "not_allowed"
        assert await code_of(house.tasks.create(robot, TOLD._replace(owner="ada"))) == "foreign_owner"
        task = await house.tasks.create(robot, TOLD)
        assert task.labels == (("horae/agent", "robot"), ("horae/via", "mcp"))
        elsewhere = robot._replace(owner="ada")
        assert await code_of(house.tasks.get(elsewhere, task.id)) == "no_such_task"


async def test_a_guest_among_many_runs_of_others_finds_its_own() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        own = await house.tasks.create(robot, TOLD._replace(when="in 1m"))
        house.later(MINUTE)
        (run,) = await house.claim()
        await house.settle(run)
        await house.add("every 1m")
        for _ in range(7):
            await house.ran(MINUTE)
        page = await house.runs.page(robot, limit=2)
        assert [each.task_id for each in page.items] == [own.id]


# --- one word stops it ---------------------------------------------------------------------------------------------


async def test_one_word_stops_all_that_an_agent_has_and_nothing_else() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        approvals = house.service.approvals
        going = await house.tasks.create(robot, TOLD)
        resting = await house.tasks.create(robot, TOLD)
        await house.tasks.pause(robot, resting.id)
        waking = await house.tasks.create(robot, TOLD)
        await house.tasks.pause(robot, waking.id, until=house.clock.now() + HOUR)
        waiting = await house.tasks.create(robot, WISH)
        mine = await house.add(who=ADA)
        assert await approvals.stop_agent(ADA, "robot") == 2
        stopped, asked = (TaskState.PAUSED, PauseCause.AGENT_STOPPED), (TaskState.PAUSED, PauseCause.REQUESTED)
        assert [await standing(house, each) for each in (going, waking, resting)] == [stopped, stopped, asked]
        assert await standing(house, waiting) == (TaskState.PAUSED, PauseCause.AWAITING_APPROVAL)
        assert await standing(house, mine) == (TaskState.ACTIVE, None)
        house.later(HOUR)
        assert [run.task_id for run in await house.claim()] == [mine.id]
        calls: list[Awaitable[object]] = [
            house.tasks.create(robot, TOLD),
            house.tasks.create_many(robot, [TOLD], str),
            house.tasks.declare(robot, TOLD._replace(key="k")),
            house.tasks.resume(robot, going.id),
            house.tasks.resume(robot, resting.id),
            house.tasks.run_now(robot, going.id),
            house.tasks.edit(robot, going.id, Edits(name="x")),
            house.tasks.pause(robot, going.id, until=house.clock.now() + HOUR),
        ]
        for call in calls:
            assert await code_of(call) == "agent_stopped"
        assert (await house.tasks.get(robot, going.id)).task == going, "it may still look"
        assert await approvals.stop_agent(ADA, "robot") == 0
        assert await approvals.restart_agent(ADA, "robot") == 2
        assert await standing(house, going) == (TaskState.ACTIVE, None)
        assert await standing(house, resting) == asked
        await house.tasks.resume(robot, resting.id)


async def test_who_may_stop_an_agent() -> None:
    async with house_on() as house:
        robot = await robot_of(house)
        task = await house.tasks.create(robot, TOLD)
        approvals = house.service.approvals
        assert await code_of(approvals.stop_agent(BOB, "robot")) == "no_such_agent", "his own, of which there is none"
        assert await standing(house, task) == (TaskState.ACTIVE, None)
        assert await code_of(approvals.stop_agent(BOB, "robot", "ada")) == "no_such_owner"
        assert await code_of(approvals.stop_agent(ADA, "a b")) == "bad_agent_name"
        assert await approvals.stop_agent(CHIEF, "robot", "ada") == 1
        rows = [(row.action, row.subject) for row in (await house.service.audit.page(CHIEF)).items][:2]
        assert rows == [("task.pause", task.id), ("agent.stop", "robot")]


async def test_what_an_agent_makes_while_it_is_stopped_is_caught() -> None:
    """It looked, was stopped, and only then writes: its pass is not valid any more."""

    async with house_on() as house:
        robot = await robot_of(house)
        real = house.store.add
        stopped: list[int] = []

        async def slowly(changes: Any) -> None:
            if not stopped:
                stopped.append(await house.service.approvals.stop_agent(ADA, "robot"))
            await real(changes)

        house.store.add = slowly  # type: ignore[method-assign]
        assert await code_of(house.tasks.create(robot, TOLD)) == "agent_stopped"
        assert stopped == [0]
        assert not (await house.tasks.page(ADA)).items
