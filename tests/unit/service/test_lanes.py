"""Lanes of the service: lists with waiters and idle runs, one lane in order, and `why` of an entry that waits in one."""

from __future__ import annotations

from horae.lifecycle.explain.explanation import Verdict
from horae.lifecycle.explain.lane import LaneWait
from horae.model.accounts.principal import AGENT_LABEL, Principal
from horae.model.lanes.idle import YieldKind, YieldReason
from horae.model.lanes.lane import LaneStatus, LaneUse
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR, MINUTE, NOON
from tests.unit.service.service_harness import ADA, BOB, ROOT, ServiceHarness, open_harness


async def _fill(harness: ServiceHarness) -> dict[str, str]:
    """A shared lane of one: bob's task runs; two of ada, and another of bob wait. Returns the task ids by name."""
    ids: dict[str, str] = {}
    for name, owner in (("b0", "bob"), ("a0", "ada"), ("a1", "ada"), ("b1", "bob")):
        task = await harness.add("in 1m", who=ROOT, name=name, owner=owner, lane="press")
        ids[name] = task.id
        harness.advance(MINUTE)
        await harness.claim()
    return ids


async def test_lanes_list_what_waits_and_idle_runs() -> None:
    async with open_harness() as harness:
        assert await harness.service.lanes.statuses(ROOT) == ()
        await _fill(harness)
        await harness.service.lanes.limit(ROOT, "oven", 4)
        (run,) = (await harness.runs.page(ROOT)).items
        assert await harness.runs.idle(ROOT, run.id) is None
        await harness.store.declare_idle(run.id, run.token, harness.clock.now())
        oldest = NOON + 2 * MINUTE
        assert await harness.service.lanes.statuses(ROOT) == (
            LaneStatus(LaneUse("oven", 4, 0)),
            LaneStatus(LaneUse("press", 1, 1), 3, oldest, 1),
        )
        assert await harness.service.lanes.statuses(BOB) == ()
        idle = await harness.runs.idle(BOB, run.id)
        assert idle is not None
        assert (idle.since, idle.yield_reason) == (harness.clock.now(), YieldReason(YieldKind.OTHER_OWNER, "press"))
        await harness.settle(run)
        assert await harness.runs.idle(BOB, run.id) is None


async def test_one_lane_shows_its_runs_and_its_queue_in_turns() -> None:
    async with open_harness() as harness:
        ids = await _fill(harness)
        detail = await harness.service.lanes.show(ROOT, "press")
        assert [(each.run.task_id, each.task) for each in detail.runs] == [(ids["b0"], "b0")]
        assert [each.task for each in detail.queue] == ["a0", "b1", "a1"]
        assert (detail.others, detail.more) == (0, False)
        cut = await harness.service.lanes.show(ROOT, "press", 1)
        assert ([each.task for each in cut.queue], cut.more) == (["a0"], True)
        unknown = await harness.service.lanes.show(ADA, "nothing")
        assert (unknown.status.use.name, unknown.runs, unknown.queue) == ("ada/nothing", (), ())


async def test_why_names_lane_holders_and_the_entries_ahead() -> None:
    async with open_harness() as harness:
        ids = await _fill(harness)
        (run,) = (await harness.runs.page(BOB)).items
        expected = {"a0": 0, "b1": 1, "a1": 2}
        for name, ahead in expected.items():
            why = await harness.explanations.explain(ROOT, ids[name], None)
            assert why.explanation.verdict is Verdict.WAITING
            assert why.explanation.lane == LaneWait("press", 1, 1, (run.id,), 0, ahead)
        own = (await harness.explanations.explain(BOB, ids["b1"], None)).explanation
        assert own.lane == LaneWait("press", 1, 1, (run.id,), 0, 1)
        foreign = (await harness.explanations.explain(ADA, ids["a1"], None)).explanation
        assert foreign.lane == LaneWait("press", 1, 1, (), 1, 2)
        assert run.id not in foreign.english + foreign.chinese
        agent = Principal("ada", agent="robot")
        task = await harness.add("in 1m", who=ROOT, name="r", owner="ada", lane="press", labels={AGENT_LABEL: "robot"})
        harness.advance(MINUTE)
        await harness.claim()
        seen = (await harness.explanations.explain(agent, task.id, None)).explanation.lane
        assert seen is not None
        assert (seen.holders, seen.others) == ((), 1)


async def test_why_says_by_when_a_slot_becomes_free() -> None:
    async with open_harness() as harness:
        await harness.add("in 1m", name="first", lane="press", options=Options(max_duration="2h"))
        waiting = await harness.add("in 1m", name="second", lane="press")
        harness.advance(MINUTE)
        (run,) = await harness.claim()
        why = (await harness.explanations.explain(ADA, waiting.id, None)).explanation
        assert run.started is not None
        assert why.lane is not None
        assert why.lane.free_by == run.started + 2 * HOUR
        assert "A slot becomes free by" in why.english
        assert "最迟在" in why.chinese
