"""Plans in the documented layout: what is shown of a plan, and what follows from a change by another program."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.lifecycle.control import control
from horae.lifecycle.plans.layout import (
    follow_plan,
    quarantine_plan,
    read_message,
    read_score,
    render_plan,
    render_votes,
)
from horae.model.change import Change
from horae.model.events.event import EventKind
from horae.model.outcome import Failed, Succeeded
from horae.model.plans.codes import PlanState, Status
from horae.model.plans.layout import FoundPlan, PlanRow, canonical_member, member_of, parse_member
from horae.model.plans.plan import Plan, plan_of, plan_target
from horae.model.plans.refusals import refuse
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import PauseCause, TaskState
from tests.unit.lifecycle.plan_world import Answer, PlanWorld

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, UTC)
SECOND = int(NOW.timestamp())
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
FIELDS: dict[str, Any] = {
    "station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": 3, "command": "run", "argument": "1",
    "plan_time": SECOND,
}  # fmt: skip
KEPT: Any = object()


def make(**fields: Any) -> PlanWorld:
    world = PlanWorld(FIELDS | fields, NOW)
    world.station = lambda _occurrence, _attempt: Answer(takes=timedelta(seconds=5))
    return world


def shown_of(world: PlanWorld) -> PlanRow:
    plan = plan_of(world.facts.task)
    assert plan is not None
    return render_plan(plan, world.facts, world.runs, world.now)


def follow(world: PlanWorld, score: Any = KEPT, message: Any = KEPT, **edits: Any) -> Change:
    """Apply what follows from a new score, another message or edited fields; None takes it away."""
    plan, row = plan_of(world.facts.task), shown_of(world)
    assert plan is not None
    text = json.dumps(json.loads(row.message) | edits) if message is KEPT else message
    found = FoundPlan((row.shown.score or None) if score is KEPT else score and str(score), text)
    change = follow_plan(world.facts, plan, row.shown, found, world.now)
    world.apply(change)
    return change


def start(world: PlanWorld) -> None:
    """Begin the next execution."""
    world.now = max(world.now, min(entry.due for entry in world.facts.entries))
    world.claim()


def starts(world: PlanWorld) -> list[int]:
    return [planned - SECOND for planned, _ in world.executions]


# --- names --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "parsed", "canonical"),
    [
        ("plan:msg:api:ff", ("api", 255), "plan:msg:api:00000000000000ff"),
        ("plan:msg:api:00000000000000FF", ("api", 255), "plan:msg:api:00000000000000ff"),
        ("plan:msg:api:0", None, None),
        ("plan:msg:api:ffffffffffffffff", None, None),
        ("plan:work:api:1", None, None),
    ],
)
def test_names_of_the_layout(member: str, parsed: Any, canonical: str | None) -> None:
    assert (parse_member(member), canonical_member(member)) == (parsed, canonical)


def test_member_is_the_name_in_sixteen_digits() -> None:
    """「plan:msg:[station]:[plan_id] 十六进制格式化的任务标识」"""
    assert member_of(Plan(255, "api", "none")) == "plan:msg:api:00000000000000ff"


def test_target_has_the_frames_as_they_were_published() -> None:
    frames = (("$", "run"), ("%", "eins"), ("B", "AAE="))
    spec = json.loads(plan_target(Plan(255, "api", "none", frames=frames)).spec)
    assert (spec["command"], spec["plan"]) == ("run", "00000000000000ff")
    assert spec["frames"] == [["ARGUMENT", "ZWlucw=="], ["CONTENT_BINARY", "AAE="]]


# --- what is shown ------------------------------------------------------------------------------------------------------------


def test_plan_in_the_queue_has_a_score_and_one_outside_has_none() -> None:
    world = make()
    row = shown_of(world)
    assert (row.score, row.shown.score, row.work, row.is_closed) == (SECOND + 60, str(SECOND + 60), None, False)
    world.apply(control.pause(world.facts, world.now))
    assert (shown_of(world).score, shown_of(world).shown.score) == (None, "")
    world.apply(control.cancel(world.facts, world.now))
    assert (shown_of(world).score, shown_of(world).is_closed) == (None, True)


def test_participants_of_a_vote_are_registered_up_front() -> None:
    """One that has not answered is running."""
    votes = {"ann": {"status": 1, "content": "yes"}, "bob": None}
    assert json.loads(render_votes(votes)) == [["\x01\x01T", "yes", "ann"], ["\x00\x03", "bob"]]


@pytest.mark.parametrize(
    ("outcome", "work"),
    [
        (Succeeded('"done"'), [["\x01\x01T", "done"]]),
        (Succeeded('{"a":1}'), [["\x01\x01J", '{"a":1}']]),
        (Succeeded(None), [["\x00\x01"]]),
        (Succeeded("{}"), [["\x01\x01J", "{}"]]),
        (Succeeded('{"content":"done","values":[{"a":1},null]}'), [["\x03\x01TJJ", "done", '{"a":1}', "null"]]),
        (Failed("broken"), [["\x01\xf0T", "broken"]]),
        (
            Succeeded('{"ann":{"status":1,"content":"yes"},"bob":null,"cyd":{"status":128,"content":null}}'),
            [["\x01\x01T", "yes", "ann"], ["\x00\x80", "cyd"]],
        ),
    ],
)
def test_answers_of_the_newest_execution(outcome: Any, work: Any) -> None:
    """「执行结果的原始数据(说明帧 + 内容帧)的Json数组」"""
    world = make()
    start(world)
    assert shown_of(world).work is None
    world.settle(outcome)
    assert json.loads(shown_of(world).work or "") == work


def test_half_of_a_surrogate_pair_is_escaped() -> None:
    world = make()
    plan = world.plan._replace(frames=(("$", "\ud83c"),))
    message = render_plan(plan, world.facts, world.runs, world.now).message
    assert message.encode().decode() == message
    assert json.loads(message)["messages"] == ["\ud83c"]


# --- what follows ---------------------------------------------------------------------------------------------------------------


def test_unchanged_message_changes_nothing() -> None:
    world = make()
    assert follow(world) == Change()


def test_missing_message_closes_the_plan() -> None:
    world = make()
    follow(world, message=None)
    assert world.status.state is PlanState.CLOSED
    assert follow(world, message=None) == Change()


def test_removed_member_pauses_until_it_is_put_back() -> None:
    """「不在执行队列中的计划,可删除重新走计划流程,或手工修改执行计划」"""
    world = make()
    follow(world, score=None)
    assert (world.facts.status.state, world.facts.status.pause.note) == (TaskState.PAUSED, "removed from plan:time:set")  # type: ignore[union-attr]
    assert follow(world, score=None) == Change()
    follow(world, score=SECOND + 200)
    world.run_until(NOW + DAY)
    assert starts(world) == [200, 260, 320]


def test_pause_with_an_end_is_over_when_the_plan_is_put_back() -> None:
    world = make()
    world.apply(control.pause(world.facts, world.now, until=NOW + DAY))
    follow(world, score=SECOND + 90)
    assert [entry.slot for entry in world.facts.entries] == ["next"]


def test_plan_that_waits_for_a_person_is_not_put_back() -> None:
    world = make()
    world.apply(control.pause(world.facts, world.now, cause=PauseCause.AWAITING_APPROVAL))
    follow(world, score=SECOND + 90)
    assert world.facts.status.state is TaskState.PAUSED


def test_error_state_takes_the_plan_out_of_the_queue() -> None:
    """「计划状态为ZERO_STATUS_FRAME_PLANERROR_ID等同于剥夺计划执行权」"""
    world = make()
    follow(world, last_state=int(Status.PLAN_ERROR))
    assert world.facts.status.state is TaskState.PAUSED
    follow(world, score=SECOND + 5, last_state=int(Status.PLAN_ERROR))
    assert world.facts.status.state is TaskState.PAUSED


def test_plan_in_error_needs_its_state_cleared_and_a_score() -> None:
    world = make()
    for _ in range(4):
        start(world)
        world.settle(Failed("broken"))
    assert world.status.state is PlanState.ERROR
    follow(world, score=SECOND + 100)
    assert world.status.state is PlanState.ERROR
    follow(world, score=SECOND + 100, last_state=0)
    assert world.facts.status.counted == 0
    world.executions.clear()
    world.run_until(NOW + DAY)
    assert starts(world) == [100, 160, 220]
    assert (world.status.state, world.status.real_repet) == (PlanState.CLOSED, 3)


@pytest.mark.parametrize(
    ("fields", "score", "expected"),
    [
        ({}, SECOND + 100, [100, 160, 220]),
        ({}, SECOND + 30, [30, 90, 150]),
        ({"plan_type": "time", "plan_time": SECOND + 60}, SECOND + 100, [100]),
        ({"plan_type": "month", "plan_value": 2, "plan_repet": 2}, SECOND + 100, [100, 86_400]),
    ],
)
def test_other_score_moves_the_plan(fields: Any, score: int, expected: list[int]) -> None:
    world = make(**fields)
    follow(world, score=score)
    world.run_until(NOW + 40 * DAY)
    assert starts(world) == expected


def test_past_score_is_due_now() -> None:
    world = make()
    follow(world, score="-5.5")
    (entry,) = world.facts.entries
    assert entry.due == NOW


def test_moved_plan_time_counts_where_the_score_stays() -> None:
    world = make()
    follow(world, plan_time=SECOND + 90)
    (entry,) = world.facts.entries
    assert entry.due == NOW.replace(microsecond=0) + timedelta(seconds=90)


def test_move_of_a_retry_moves_its_due_instant() -> None:
    world = make(plan_repet=1)
    start(world)
    world.settle(Failed("broken"))
    follow(world, score=SECOND + 300)
    start(world)
    assert world.executions == [(SECOND + 60, SECOND + 60.0), (SECOND + 60, SECOND + 300.0)]


def test_move_during_the_last_execution_has_no_effect() -> None:
    world = make(plan_repet=1)
    start(world)
    follow(world, score=SECOND + 300)
    world.settle()
    assert world.status.state is PlanState.CLOSED


def test_move_drops_the_backlog() -> None:
    """There is one next instant: what waited has a row that says so."""
    world = make(plan_repet=-1, no_keep=True)
    world.now = NOW + 5 * MINUTE
    world.claim()
    follow(world, score=SECOND + 600)
    world.settle()
    rows = [run.reason for run in world.runs if run.state is RunState.SKIPPED]
    assert rows
    assert set(rows) == {Reason.CANCELLED}
    (entry,) = world.facts.entries
    assert entry.planned.timestamp() == SECOND + 600


def test_edited_definition_is_that_of_the_next_execution() -> None:
    world = make()
    follow(world, description="浇水", messages=["run", "2", "3"], no_keep=True)
    task, plan = world.facts.task, plan_of(world.facts.task)
    assert plan is not None
    assert plan.frames == (("$", "run"), ("%", "2"), ("%", "3"))
    assert (task.name, task.policies.missed.mode, task.version) == ("浇水", "all", 2)
    assert world.status.plan_time == SECOND + 60


def test_edited_delay_counts_from_the_next_instant() -> None:
    world = make()
    follow(world, plan_value=5)
    world.run_until(NOW + DAY)
    assert starts(world) == [60, 360, 660]


def test_edited_delay_counts_from_the_instant_that_is_executed_or_retried() -> None:
    world = make()
    start(world)
    follow(world, plan_value=5)
    world.settle(Failed("broken"))
    follow(world, plan_value=7)
    world.run_until(NOW + DAY)
    assert starts(world) == [60, 60, 60 + 420, 60 + 840]


def test_fewer_repeats_close_the_plan_after_its_execution() -> None:
    world = make()
    start(world)
    follow(world, plan_repet=1)
    world.settle()
    assert world.status.state is PlanState.CLOSED


def test_edited_counters_count() -> None:
    world = make(plan_repet=5)
    follow(world, real_repet=3, skip_set=1)
    world.run_until(NOW + DAY)
    assert starts(world) == [120]
    assert (world.status.state, world.status.real_repet) == (PlanState.CLOSED, 5)


def test_skips_are_edited_and_ended() -> None:
    world = make(plan_repet=9, skip_set=5)
    follow(world, skip_num=4)
    assert world.facts.status.skips_left == 1
    follow(world, skip_set=-1)
    assert world.status.state is PlanState.SKIPPING
    follow(world, skip_set=0, skip_num=0)
    assert world.facts.status.skips_left == 0


def test_retry_counters_are_not_edited() -> None:
    world = make()
    start(world)
    world.settle(Failed("broken"))
    follow(world, skip_num=3, description="x")
    assert (world.status.skip_set, world.status.skip_num) == (-2, 1)


def test_fields_that_are_left_out_stay() -> None:
    world = make(description="roses", plan_repet=7)
    follow(world, message='{"plan_value": 2}')
    plan = plan_of(world.facts.task)
    assert plan is not None
    assert (plan.plan_value, plan.plan_repet, plan.description) == (2, 7, "roses")


@pytest.mark.parametrize(
    "message",
    ["no json", "[" * 100_000, "[]", '{"plan_id": 4}', '{"station": "other"}', '{"plan_value": 0}', '{"messages": 5}'],
)
def test_unreadable_message_is_refused(message: str) -> None:
    world = make()
    with pytest.raises(Refusal):
        follow(world, message=message)


@pytest.mark.parametrize("score", ["inf", "-inf", "1e300"])
def test_score_that_is_no_time_is_refused(score: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_score("plan:msg:api:1", score)
    assert refused.value.code == "bad_plan_layout"


def test_quarantine_takes_the_plan_out_of_the_queue_with_the_reason() -> None:
    world = make()
    refusal = refuse("bad_plan_id", value=0)
    world.apply(quarantine_plan(world.facts, refusal, world.now))
    pause = world.facts.status.pause
    assert pause is not None
    assert pause.note == refusal.message


def test_message_of_another_program_needs_only_what_the_document_requires() -> None:
    text = json.dumps({"plan_type": 2, "plan_value": 1, "plan_repet": 1, "messages": ["a", "b"], "real_repet": 4})
    plan, progress = read_message("plan:msg:api:7", 7, "api", text)
    assert (plan.plan_id, plan.station, plan.frames) == (7, "api", (("$", "a"), ("%", "b")))
    assert progress.real_repet == 4


def test_event_of_a_deleted_plan_has_its_name() -> None:
    """Nothing else is left, by which a reader of events could know the plan."""
    world = make()
    world.apply(control.cancel(world.facts, world.now))
    (event,) = control.delete(world.facts, world.now).events
    plan = plan_of(world.facts.task)
    assert plan is not None
    assert (event.kind, event.detail) == (EventKind.TASK_DELETED, plan.name)
    other = world.facts._replace(task=world.facts.task._replace(key=None))
    assert [each.detail for each in control.delete(other, world.now).events] == [None]
