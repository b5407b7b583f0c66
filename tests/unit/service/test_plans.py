"""Plans: published once per id, listed by state, station and type, controlled by name, imported; scopes and agents."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.errors import NotAllowed
from horae.model.accounts.principal import Principal, Scope
from horae.model.outcome import Failed, Succeeded
from horae.model.plans.codes import FrameType, PlanState, Status
from horae.model.plans.plan import PLAN_LABEL, SURFACE_LABEL
from horae.service.plans.plans import HISTORY, PlanFilter, results_of
from horae.stations.frames import Frame
from horae.stations.spec import check_spec
from tests.unit.service.service_harness import ADA, ROOT, ServiceHarness, allow_stations, code_of, open_harness

FIELDS: dict[str, Any] = {"station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": -1, "command": "run"}
MINUTE = timedelta(minutes=1)
READER = Principal("ada", scopes=frozenset({Scope.READ}))
WRITER = Principal("ada", scopes=frozenset({Scope.WRITE}))


async def fail_all(harness: ServiceHarness) -> None:
    """Fail the next occurrence of every plan with all its retries."""
    harness.advance(MINUTE)
    for _ in range(4):
        for run in await harness.claim():
            await harness.settle(run, Failed("no"))
        harness.advance(timedelta(seconds=1))


async def test_plan_is_an_ordinary_task() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        view = await harness.service.plans.add(ADA, FIELDS | {"description": "热水", "plan_id": 255})
        task = (await harness.tasks.get(ADA, view.task_id)).task
        assert (task.name, task.owner, task.key) == ("热水", "ada", "plan:00000000000000ff")
        assert dict(task.labels) == {SURFACE_LABEL: "plan", PLAN_LABEL: "api"}
        assert view.plan.caller == "ada"
        assert view.status.plan_time == int(harness.clock.now().timestamp()) + 60


async def test_plan_calls_its_station_with_its_frames() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        fields = FIELDS | {"plan_id": 255, "frames": [["$", "run"], ["J", "{}"], ["B", "AAE="]]}
        view = await harness.service.plans.add(ADA, fields)
        target = (await harness.tasks.get(ADA, view.task_id)).task.target
        assert target.kind == "station"
        spec = check_spec(json.loads(target.spec))
        assert (spec.station, spec.command, spec.plan) == ("api", "run", 255)
        assert spec.frames == (Frame(FrameType.CONTENT_JSON, b"{}"), Frame(FrameType.CONTENT_BINARY, b"\x00\x01"))


async def test_publishing_twice_adds_one_plan() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        first = await plans.add(ADA, FIELDS | {"plan_id": 7})
        harness.advance(MINUTE)
        again = await plans.add(ADA, FIELDS | {"plan_id": 7})
        assert again.task_id == first.task_id
        assert await code_of(plans.add(ADA, FIELDS | {"plan_id": 7, "plan_value": 2})) == "plan_exists"
        assert len(await plans.all(ADA)) == 1


async def test_key_of_another_task_is_no_plan() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        await harness.add(key="plan:00000000000000ff")
        plans = harness.service.plans
        assert await code_of(plans.add(ADA, FIELDS | {"plan_id": 255})) == "plan_exists"
        assert await code_of(plans.get(ADA, "ff")) == "no_such_plan"
        assert await plans.all(ADA) == []


async def test_lists_by_state_station_and_type() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        await plans.add(ADA, FIELDS)
        await plans.add(ADA, FIELDS | {"station": "vote", "plan_type": "week"})
        closed = await plans.add(ADA, FIELDS | {"plan_type": "month"})
        await plans.close(ADA, closed.plan.name)
        await harness.add()
        assert [each.plan.station for each in await plans.all(ADA)] == ["api", "vote"]
        assert [each.plan.station for each in await plans.all(ADA, PlanFilter(station="vote"))] == ["vote"]
        assert [each.plan.plan_type for each in await plans.all(ADA, PlanFilter(types=("week",)))] == ["week"]
        assert [each.plan for each in await plans.all(ADA, HISTORY)] == [closed.plan]
        assert len(await plans.all(ROOT)) == 2
        assert len(await plans.all(ADA, most=1)) == 1


async def test_closed_plan_is_shown_for_a_day_and_can_be_removed_later() -> None:
    """「已达结束条件 : 则正常删除」: here a day later, and its runs stay in the ledger."""
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(ADA, FIELDS)
        assert await code_of(plans.remove(ADA, view.plan.name)) == "plan_not_closed"
        closed = await plans.close(ADA, view.plan.name)
        assert closed.status.state is PlanState.CLOSED
        assert (await plans.close(ADA, view.plan.name)).status == closed.status
        assert (await plans.get(ADA, view.plan.hex_id)).plan == view.plan
        for call in (plans.pause, plans.reset):
            assert await code_of(call(ADA, view.plan.name)) == "plan_closed"
        harness.advance(timedelta(days=1))
        assert await plans.all(ADA, HISTORY) == []
        assert await code_of(plans.get(ADA, view.plan.hex_id)) == "no_such_plan"
        await plans.remove(ADA, view.plan.hex_id)
        assert await code_of(plans.remove(ADA, view.plan.hex_id)) == "no_such_plan"


async def test_name_must_have_its_station() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(ADA, FIELDS | {"plan_id": 255})
        for name in ("ff", "msg:api:ff", f"plan:{view.plan.name}", view.task_id):
            assert (await plans.get(ADA, name)).plan == view.plan
        for name in ("msg:vote:ff", "fe", "nonsense"):
            assert await code_of(plans.get(ADA, name)) == "no_such_plan"


async def test_skip_counts_and_is_part_of_the_plan() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(ADA, FIELDS)
        skipping = await plans.skip(ADA, view.plan.name, 2)
        assert (skipping.status.state, skipping.status.skip_set, skipping.status.skip_num) == (PlanState.SKIPPING, 2, 0)
        harness.advance(MINUTE)
        assert await harness.claim() == []
        found = await plans.get(ADA, view.plan.name)
        assert (found.status.skip_set, found.status.skip_num, found.plan.skip_set) == (2, 1, 2)
        assert (await plans.skip(ADA, view.plan.name, -5)).status.skip_set == -1
        assert (await plans.skip(ADA, view.plan.name, 0)).status.state is PlanState.QUEUED
        assert await code_of(plans.skip(ADA, view.plan.name, 10_001)) == "bad_plan_field"


async def test_pause_and_reset() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(ADA, FIELDS)
        assert await code_of(plans.reset(ADA, view.plan.name)) == "plan_not_stopped"
        assert (await plans.pause(ADA, view.plan.name)).status.state is PlanState.PAUSED
        harness.advance(3 * MINUTE)
        reset = await plans.reset(ADA, view.plan.name)
        assert reset.status.state is PlanState.QUEUED
        assert reset.status.plan_time > harness.clock.now().timestamp() - 1


async def test_error_leaves_the_queue_and_reset_executes_again() -> None:
    """「ZERO_STATUS_FRAME_PLANERROR_ID : 说明当前计划存在错误,移出执行队列」; 「不在执行队列中的计划,可删除重新走计划流程,或手工修改执行计划」."""
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(ADA, FIELDS)
        await fail_all(harness)
        found = await plans.get(ADA, view.plan.name)
        assert (found.status.state, found.status.last_state) == (PlanState.ERROR, Status.PLAN_ERROR)
        assert [each["error"] for each in results_of(found)] == ["no"] * 4
        await plans.reset(ADA, view.plan.name)
        (run,) = await harness.claim()
        await harness.settle(run, Succeeded('"fine"'))
        found = await plans.get(ADA, view.plan.name)
        assert (found.status.state, found.status.last_state) == (PlanState.QUEUED, Status.OK)
        assert results_of(found)[0]["result"] == '"fine"'


async def test_clear_and_flush() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        views = [await plans.add(ADA, FIELDS) for _ in range(3)]
        for view in views[:2]:
            await plans.close(ADA, view.plan.name)
        harness.writes.clear()
        assert await plans.flush(ADA) == 1
        assert harness.writes == [None]
        assert await plans.clear(ADA) == 2
        assert await plans.all(ADA, HISTORY) == []


async def test_import_continues_stored_plans() -> None:
    """A stored message has its next instant in plan_time, and its counters."""
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        at = int(harness.clock.now().timestamp()) + 30
        stored = FIELDS | {"plan_repet": 5, "real_repet": 3, "plan_time": at, "messages": ["run", "a"], "command": None}
        results = await plans.import_plans(
            ADA,
            [
                stored | {"plan_id": 1},
                stored | {"plan_id": 2, "last_state": Status.PLAN_ERROR.value},
                stored | {"plan_id": 3, "plan_state": 7},
                stored | {"plan_id": 4, "plan_value": 0},
                "nonsense",
                stored | {"plan_id": 5, "skip_set": 4, "skip_num": 3},
            ],
        )
        first, error, closed, bad, nonsense, skipping = results
        assert first.view is not None
        assert first.view.status[1:5] == (3, 0, 0, at)
        assert first.view.plan.frames == (("$", "run"), ("%", "a"))
        assert error.view is not None
        assert error.view.status.state is PlanState.PAUSED
        assert (closed.view, closed.refusal) == (None, None)
        assert bad.refusal is not None
        assert nonsense.refusal is not None
        assert skipping.view is not None
        assert skipping.view.status[1:4] == (3, 4, 3)
        assert await code_of(plans.import_plans(ADA, [{}] * 1_001)) == "bad_plan_field"


async def test_scopes() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        plans = harness.service.plans
        view = await plans.add(WRITER, FIELDS)
        name = view.plan.name
        for read in (plans.page(WRITER), plans.get(WRITER, name), plans.find_by_task(WRITER, view.task_id)):
            with pytest.raises(NotAllowed):
                await read
        for write in (
            plans.add(READER, FIELDS),
            plans.import_plans(READER, []),
            plans.skip(READER, name, 1),
            plans.pause(READER, name),
            plans.reset(READER, name),
            plans.close(READER, name),
            plans.remove(READER, name),
            plans.clear(READER),
            plans.flush(READER),
        ):
            with pytest.raises(NotAllowed):
                await write
        found = await plans.find_by_task(READER, view.task_id)
        assert found is not None
        assert found.plan == view.plan


async def test_plan_of_an_agent_waits_for_approval_and_is_seen_by_it_alone() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        robot = await harness.make_member("ada", agent="robot", active_tasks=None)
        plans = harness.service.plans
        view = await plans.add(robot, FIELDS | {"plan_id": 255, "plan_type": "time", "plan_time": 2_000_000_000})
        facts = await harness.tasks.get(ADA, view.task_id)
        assert facts.task.key == "agent:robot/plan:00000000000000ff"
        assert (await plans.get(robot, "ff")).plan == view.plan
        other = robot._replace(agent="other")
        assert await code_of(plans.get(other, "ff")) == "no_such_plan"
        assert await code_of(plans.reset(robot, "ff")) == "awaiting_approval"


async def test_retries_of_a_member_keep_to_its_shortest_interval() -> None:
    async with open_harness() as harness:
        await allow_stations(harness.service, "ada", "api", "vote")
        member = await harness.make_member("eve", shortest_interval="10s")
        await allow_stations(harness.service, "eve", "api")
        view = await harness.service.plans.add(member, FIELDS)
        task = (await harness.tasks.get(member, view.task_id)).task
        assert task.policies.retry.backoff == timedelta(seconds=10)
        assert (
            await code_of(harness.service.plans.add(member, FIELDS | {"plan_type": "second"})) == "interval_too_short"
        )
