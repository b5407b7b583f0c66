"""Plans: every rule of the document that a decision carries, with its sentence; the states and counters that are derived."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.lifecycle.control import control
from horae.lifecycle.fire import fire
from horae.lifecycle.plans.rules import begin_plan, is_closed, is_visible, plan_status, reset_plan, skip_plan
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change
from horae.model.outcome import Cancelled, Failed, Skipped, TimedOut
from horae.model.plans.codes import PlanState, Status
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.ports.store import DEFAULT_TERMS
from horae.testing.factories import NODE
from tests.unit.lifecycle.plan_world import Answer, PlanWorld

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, UTC)
SECOND = int(NOW.timestamp())
DAY = timedelta(days=1)
FIELDS: dict[str, Any] = {"station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": 3, "command": "run"}


def make(station: Any = None, **fields: Any) -> PlanWorld:
    given = {} if station is None else {"station": station}
    return PlanWorld(FIELDS | fields, NOW, **given)


def failing(occurrence: int, attempts: int = 4) -> Any:
    """A station that fails the first executions of one occurrence."""

    def answer(number: int, attempt: int) -> Answer:
        return Answer(is_ok=not (number == occurrence and attempt <= attempts))

    return answer


def reasons(world: PlanWorld) -> list[tuple[Reason | None, int]]:
    skipped = [run for run in world.runs if run.state is RunState.SKIPPED]
    return [(run.reason, 1 if run.span is None else run.span.count) for run in skipped]


# --- 3.3.1 ------------------------------------------------------------------------------------------------------------------


def test_time_in_the_future_is_executed_once_at_its_time() -> None:
    """「plan_repet 无效,只执行一次」"""
    world = make(plan_type="time", plan_time=SECOND + 90, plan_repet=5)
    world.run_until(NOW + DAY)
    assert world.executions == [(SECOND + 90, SECOND + 90.0)]
    assert world.status.state is PlanState.CLOSED


def test_past_time_without_no_keep_is_skipped() -> None:
    """「如过时 : 且设置no_keep则计划会执行,否则直接跳过」"""
    world = make(plan_type="time", plan_time=SECOND - 3)
    world.run_until(NOW + DAY)
    assert world.executions == []
    assert reasons(world) == [(Reason.MISSED_SKIPPED, 1)]
    assert (world.status.state, world.status.skip_num) == (PlanState.CLOSED, 1)


def test_past_time_with_no_keep_is_executed() -> None:
    """「no_keep 如时间已过,设置为true则照样执行」"""
    world = make(plan_type="time", plan_time=SECOND - 90 * 86_400, no_keep=True)
    world.run_until(NOW + DAY)
    assert world.executions == [(SECOND - 90 * 86_400, NOW.timestamp())]


def test_plan_without_a_type_is_sent_at_once() -> None:
    """「无计划，立即发送」"""
    world = make(plan_type="none", plan_time=5)
    world.run_until(NOW + DAY)
    assert world.executions == [(SECOND, NOW.timestamp())]


# --- 3.3.2 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "length"), [("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400)])
def test_delay_counts_from_the_time(kind: str, length: int) -> None:
    """「延时处理」: the first execution is one delay after plan_time."""
    world = make(plan_type=kind, plan_value=2, plan_repet=2, plan_time=SECOND + 10)
    world.run_until(NOW + 5 * DAY)
    assert [at for at, _ in world.executions] == [SECOND + 10 + 2 * length, SECOND + 10 + 4 * length]


def test_delay_counts_from_the_receipt_without_a_time() -> None:
    """「如为0,起始时间为服务器接收任务的当前时间」"""
    world = make()
    world.run_until(NOW + DAY)
    assert [at for at, _ in world.executions] == [SECOND + 60, SECOND + 120, SECOND + 180]
    assert (world.status.state, world.status.real_repet) == (PlanState.CLOSED, 3)


def test_zero_repeats_run_once() -> None:
    """「重复次数,0不重复 >0重复次数,-1永久重复」"""
    world = make(plan_repet=0)
    world.run_until(NOW + DAY)
    assert len(world.executions) == 1


def test_instants_before_the_receipt_are_skipped_and_count() -> None:
    """「no_keep=false : 当设置为false时,所有小于计算时当前时间的都会跳过」"""
    world = make(plan_time=SECOND - 90)
    assert reasons(world) == [(Reason.MISSED_SKIPPED, 1)]
    assert (world.status.real_repet, world.status.skip_num, world.status.plan_time) == (1, 1, SECOND + 30)
    world.run_until(NOW + DAY)
    assert [at for at, _ in world.executions] == [SECOND + 30, SECOND + 90]


def test_time_lost_by_a_long_execution_is_skipped() -> None:
    """「包括因执行时间过长而耽误的时间」"""
    world = make(lambda number, _attempt: Answer(takes=timedelta(seconds=150 if number == 1 else 1)), plan_repet=5)
    world.run_until(NOW + DAY)
    assert [at - SECOND for at, _ in world.executions] == [60, 240, 300]
    assert world.trace[0][1:5] == (3, 0, 2, SECOND + 240)


def test_a_plan_whose_last_instant_has_passed_is_never_executed() -> None:
    """「如到最后一次执行时间也小于当前时间,则任务自动删除,可能一次也未执行过」"""
    world = make(plan_time=SECOND - 9_000)
    assert (world.status.state, world.status.real_repet, world.facts.entries) == (PlanState.CLOSED, 3, ())
    assert world.status.last_state is Status.NONE


def test_no_keep_executes_every_instant_one_after_the_other() -> None:
    """「no_keep=true : 每次计划都延时一次且执行完成后再进入下一次时间」"""
    world = make(lambda *_: Answer(takes=timedelta(seconds=100)), plan_time=SECOND - 90, no_keep=True, plan_repet=4)
    world.run_until(NOW + DAY)
    assert [at - SECOND for at, _ in world.executions] == [-30, 30, 90, 150]
    starts = [start - NOW.timestamp() for _, start in world.executions]
    assert starts == pytest.approx([0, 100, 200, 300])


def test_no_keep_catches_up_more_than_ten_thousand() -> None:
    world = make(plan_type="second", plan_time=SECOND - 20_001, no_keep=True, plan_repet=20_000)
    world.claim()
    assert reasons(world) == []
    assert world.status[1:5] == (0, 0, 0, SECOND - 20_000)


# --- 3.3.3, 3.3.4 -----------------------------------------------------------------------------------------------------------


def test_weeks_are_always_in_the_future() -> None:
    """「plan_time : 仅时间部分有效,当天执行时间」「所计划时间均为未来时间」"""
    world = make(plan_type="week", plan_value=0, plan_time=SECOND - 100 * 86_400 - 3_600, plan_repet=2, no_keep=True)
    world.run_until(NOW + 20 * DAY)
    # NOW is a Sunday at noon, and the time is 11:00.
    assert [at for at, _ in world.executions] == [SECOND + 7 * 86_400 - 3_600, SECOND + 14 * 86_400 - 3_600]


def test_month_without_the_day_has_its_last_day() -> None:
    """「指定号数,如当月无此号,则为当月最后一天」"""
    world = make(plan_type="month", plan_value=31, plan_repet=2)
    world.run_until(NOW + 90 * DAY)
    assert [f"{datetime.fromtimestamp(at, UTC):%m-%d %H:%M}" for at, _ in world.executions] == [
        "03-31 12:00",
        "04-30 12:00",
    ]


# --- 3.3 skip_set -----------------------------------------------------------------------------------------------------------


def test_skip_all_counts_and_executes_nothing() -> None:
    """「skip_set =-1 : skip_num增加一次计数,,不执行任务,直接计算下一次执行时间」"""
    world = make(skip_set=-1, plan_repet=-1)
    assert world.status.state is PlanState.SKIPPING
    world.run_until(NOW + timedelta(minutes=4))
    assert world.executions == []
    assert world.status[:5] == (PlanState.SKIPPING, 4, -1, 4, SECOND + 300)


def test_skips_of_a_plan_use_up_its_repeats() -> None:
    world = make(skip_set=-1)
    world.run_until(NOW + DAY)
    assert world.status[:4] == (PlanState.CLOSED, 3, -1, 3)


def test_skip_n_skips_the_first_n() -> None:
    """「skip_set > 0」: 「1-n 跳过次数」"""
    world = make(skip_set=2)
    world.run_until(NOW + DAY)
    assert [at - SECOND for at, _ in world.executions] == [180]
    assert world.status[1:4] == (3, 2, 2)


def test_instants_that_have_passed_count_as_skips() -> None:
    """「空跳也会参与计数」"""
    world = make(plan_repet=6, skip_set=3, plan_time=SECOND - 150)
    assert world.status[1:4] == (2, 3, 2)
    world.run_until(NOW + DAY)
    assert len(world.executions) == 3


def test_skips_can_be_asked_for_and_withdrawn() -> None:
    world = make(plan_repet=-1)
    world.apply(skip_plan(world.facts, -1))
    world.plan = world.plan._replace(skip_set=-1)
    skipping = world.status
    world.apply(skip_plan(world.facts, 0))
    world.plan = world.plan._replace(skip_set=0)
    assert (skipping.state, world.status.state) == (PlanState.SKIPPING, PlanState.QUEUED)


# --- 3.4 --------------------------------------------------------------------------------------------------------------------


def test_error_is_retried_three_times_and_ends_the_plan() -> None:
    """「skip_num >= 3 : 设置状态为ZERO_STATUS_FRAME_PLAN_ERROR_ID,不再执行」"""
    world = make(failing(2), plan_type="second", plan_repet=10)
    world.run_until(NOW + DAY)
    assert len(world.executions) == 1 + 4
    assert [each[:4] for each in world.trace[1:]] == [
        (PlanState.RETRYING, 1, -2, 1),
        (PlanState.RETRYING, 1, -2, 2),
        (PlanState.RETRYING, 1, -2, 3),
        (PlanState.ERROR, 1, -2, 3),
    ]
    assert world.status.last_state is Status.PLAN_ERROR
    assert world.facts.entries == ()


def test_retries_of_an_occurrence_end_before_the_next_one_counts() -> None:
    """「skip_num >= 3 : 设置状态为ZERO_STATUS_FRAME_PLAN_ERROR_ID,不再执行」: a plan of one second, which once was executed 13 times over five occurrences."""
    world = make(failing(1, 2), plan_type="second", plan_repet=6)
    world.run_until(NOW + DAY)
    at = [planned - SECOND for planned, _ in world.executions]
    assert at == [1, 1, 1, 4, 5, 6]
    starts = [start - SECOND for _, start in world.executions]
    assert starts == pytest.approx([1, 2.1, 3.2, 4, 5, 6])


def test_success_after_a_retry_goes_on() -> None:
    """「未达结束条件 : 正常计算下一次执行计划」"""
    world = make(failing(1, 1))
    world.run_until(NOW + DAY)
    assert world.trace[1][:4] == (PlanState.QUEUED, 1, 0, 0)
    assert (world.status.state, world.status.last_state) == (PlanState.CLOSED, Status.OK)


def test_timeout_is_retried() -> None:
    """「如到达超时,进入三次重试状态」"""
    world = make()
    world.run_until(NOW + timedelta(seconds=59.8))
    assert world.status.state is PlanState.EXECUTING
    assert world.status.last_state is Status.RUNNING
    world.settle(TimedOut())
    assert (world.status.state, world.status.last_state) == (PlanState.RETRYING, Status.TIMEOUT)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Failed("x", reason=Reason.NO_ANSWER), Status.RECEIVE_ERROR),
        (Failed("x", reason=Reason.NOT_CALLED), Status.SEND_ERROR),
        (Failed("x", reason=Reason.NO_WORKER), Status.NO_WORKER),
        (Failed("x", reason=Reason.WORKER_LOST), Status.NET_ERROR),
        (Failed("x", reason=Reason.TARGET_NOT_ALLOWED), Status.DENIED),
        (Failed("x", reason=Reason.TARGET_UNKNOWN), Status.NOT_FOUND),
        (Failed("x"), Status.ERROR),
        (Skipped("not today"), Status.FAILED),
        (Cancelled(), Status.PAUSE),
    ],
)
def test_last_state_follows_the_outcome(outcome: Any, status: Status) -> None:
    """「设置计划状态,并保存之」"""
    world = make()
    world.run_until(NOW + timedelta(seconds=59.8))
    world.settle(outcome)
    assert world.status.last_state is status
    assert world.status.exec_time == SECOND + 60


# --- pause, reset, close ----------------------------------------------------------------------------------------------------


def test_paused_plan_is_reset_and_goes_on() -> None:
    world = make()
    world.apply(control.pause(world.facts, world.now))
    assert world.status.state is PlanState.PAUSED
    world.now += timedelta(seconds=90)
    world.apply(reset_plan(world.facts, world.plan, None, world.now))
    assert (world.status.state, world.status.plan_time) == (PlanState.QUEUED, SECOND + 120)


def test_paused_plan_with_no_keep_catches_up() -> None:
    world = make(no_keep=True)
    world.apply(control.pause(world.facts, world.now))
    world.now += timedelta(seconds=150)
    world.apply(reset_plan(world.facts, world.plan, None, world.now))
    world.run_until(NOW + DAY)
    assert [at - SECOND for at, _ in world.executions] == [60, 120, 180]


@pytest.mark.parametrize("kind", ["minute", "time"])
def test_plan_in_error_is_reset_and_executes_the_failed_occurrence(kind: str) -> None:
    """「不在执行队列中的计划,可删除重新走计划流程,或手工修改执行计划」"""
    world = make(failing(1), plan_type=kind, plan_time=SECOND + 60)
    world.run_until(NOW + DAY)
    assert world.status.state is PlanState.ERROR
    number = len(world.executions)
    world.station = lambda _number, _attempt: Answer()
    world.apply(reset_plan(world.facts, world.plan, world.runs[0], world.now))
    assert (world.status.state, world.status.skip_num) == (PlanState.QUEUED, 0)
    world.run_until(NOW + DAY)
    assert world.executions[number][0] == world.executions[0][0]
    assert (world.status.state, world.status.last_state) == (PlanState.CLOSED, Status.OK)


def test_plan_in_error_without_a_run_continues() -> None:
    world = make(failing(1), plan_repet=-1)
    world.run_until(NOW + timedelta(seconds=70))
    world.apply(reset_plan(world.facts, world.plan, None, world.now))
    assert world.facts.status.state is TaskState.ACTIVE


def test_only_stopped_plans_are_reset() -> None:
    world = make()
    with pytest.raises(Refusal, match="neither paused nor in error"):
        reset_plan(world.facts, world.plan, None, world.now)
    world.run_until(NOW + DAY)
    with pytest.raises(Refusal, match="is closed"):
        reset_plan(world.facts, world.plan, None, world.now)


def test_closed_plan_is_visible_for_a_day() -> None:
    world = make()
    assert is_visible(world.facts, NOW + 100 * DAY)
    assert not is_closed(world.facts)
    world.apply(control.cancel(world.facts, world.now))
    assert is_closed(world.facts)
    assert is_visible(world.facts, NOW + DAY / 2)
    assert not is_visible(world.facts, NOW + DAY)
    assert (world.status.state, world.status.plan_time) == (PlanState.CLOSED, SECOND)


def test_close_during_a_retry_does_not_count_the_occurrence() -> None:
    world = make(failing(2), plan_repet=9)
    world.run_until(NOW + timedelta(seconds=121))
    assert world.status.state is PlanState.RETRYING
    world.apply(control.cancel(world.facts, world.now))
    assert world.status[:2] == (PlanState.CLOSED, 1)


def test_queued_occurrences_do_not_count() -> None:
    world = make(lambda *_: Answer(takes=timedelta(minutes=9)), no_keep=True, plan_repet=5)
    world.run_until(NOW + timedelta(minutes=4))
    assert world.status[:5] == (PlanState.EXECUTING, 0, 0, 0, SECOND + 60)
    world.run_until(NOW + timedelta(minutes=10, seconds=1))
    assert world.status[1] == 1


def test_plan_between_two_decisions_has_no_state() -> None:
    world = make()
    world.facts = world.facts._replace(entries=())
    assert world.status.state is PlanState.NONE
    assert world.status.plan_time == world.plan.plan_time


def test_manual_runs_do_not_touch_the_counters() -> None:
    world = make()
    world.apply(control.run_now(world.facts, world.now))
    world.claim()
    assert world.status[:4] == (PlanState.QUEUED, 0, 0, 0)
    world.settle(Failed("no"))
    assert world.status[:4] == (PlanState.QUEUED, 0, 0, 0)


def test_a_change_without_a_task_is_left_alone() -> None:
    world = make()
    assert begin_plan(Change(), world.plan, 3, NOW) == Change()


def test_blocked_owner_fails_no_plan() -> None:
    world = make(plan_repet=-1)
    world.run_until(NOW + timedelta(seconds=59))
    world.now = NOW + timedelta(seconds=61)
    (entry,) = world.facts.entries
    facts = world.facts._replace(block_reason=Reason.OWNER_REVOKED)
    world.apply(fire(facts, entry, 9, ClaimContext(NODE, world.now, DEFAULT_TERMS.poll_ceiling)))
    status = plan_status(world.plan, world.facts, world.runs, world.now)
    assert (status.state, status.real_repet, status.skip_num) == (PlanState.QUEUED, 1, 0)
