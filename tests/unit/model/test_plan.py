"""Plans as values: fields, checks, names, schedule, policies and past. Sentences of the document are in the docstrings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.plans.codes import FrameType
from horae.model.plans.plan import (
    ENDLESS_SKIPS,
    MAX_FRAMES,
    MAX_PLAN_ID,
    Plan,
    check_station_frames,
    derive_plan_id,
    encode_plan,
    parse_plan_name,
    past_of_plan,
    plan_of,
    plan_or_stand_in,
    policies_of,
    read_plan,
    received_at,
    schedule_of,
    skips_of,
    type_number,
)
from horae.model.plans.refusals import CATALOGUE
from horae.model.policy import UNLIMITED_CATCH_UP, Missed, from_json, to_json
from horae.model.stations.station import StationKind
from horae.model.task import Target, TaskPast
from horae.schedule import Every, Once
from horae.schedule import next as next_after
from horae.schedule.value import Past
from horae.testing.factories import a_task

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, UTC)
SECOND = int(NOW.timestamp())
FIELDS: dict[str, Any] = {"station": "api", "plan_type": "minute", "plan_value": 5, "plan_repet": 3, "command": "run"}


def make(**fields: Any) -> Plan:
    return read_plan(FIELDS | fields, 7)[0]


def refused(**fields: Any) -> str:
    with pytest.raises(Refusal) as caught:
        make(**fields)
    return caught.value.code


def test_fields_of_a_plan() -> None:
    plan = make(plan_id="255", request_id="r1", caller="shop", description="热水", no_keep=1, skip_set=2)
    assert plan == make(plan_id=255)._replace(
        no_keep=True, skip_set=2, description="热水", request_id="r1", caller="shop"
    )
    assert (plan.hex_id, plan.name) == ("00000000000000ff", "msg:api:00000000000000ff")
    assert (plan.key, plan.caller_name) == ("plan:00000000000000ff", "*:00000000000000ff")
    assert plan.title == "热水"
    assert make().title == "msg:api:0000000000000007"
    assert type_number(plan) == 3


def test_plan_id_is_given_or_generated() -> None:
    """「plan_id : 如有global_id帧,使用此值,如无系统生成一个global_id」"""
    assert make(plan_id=MAX_PLAN_ID).plan_id == make(plan_id=str(MAX_PLAN_ID)).plan_id == MAX_PLAN_ID
    assert [make(plan_id=each).plan_id for each in (None, 0, "")] == [7, 7, 7]


@pytest.mark.parametrize("value", [-1, MAX_PLAN_ID + 1, "x", "９", True, 1.5, [1], "9" * 20])
def test_bad_plan_id(value: object) -> None:
    assert refused(plan_id=value) == "bad_plan_id"


def test_station_and_texts_are_checked() -> None:
    assert {refused(station=each) for each in (None, "", "a b", "x" * 65, 3)} == {"bad_plan_field"}
    assert {refused(description=each) for each in ("x" * 201, "a\nb", 3)} == {"bad_plan_field"}
    assert refused(skip_set=10_001, plan_repet=-1) == "bad_plan_field"


def test_something_that_is_no_object_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        read_plan([1], 7)
    assert caught.value.code == "compat_not_a_mapping"


def test_command_is_required() -> None:
    """「必须有命令内容 1 API或Vote:必须有命令帧 2 Pub: 必须完整」"""
    assert refused(command=None) == "plan_no_command"
    assert refused(command="") == "plan_no_command"
    assert refused(command=None, frames=[["J", "{}"]]) == "plan_no_command"
    assert make(command=None, frames=[["*", "title"], ["J", "{}"]]).frames == (("*", "title"), ("J", "{}"))


def test_frames_are_made_of_names_or_messages() -> None:
    assert make(context="c", argument="a").frames == (("$", "run"), ("#", "c"), ("%", "a"))
    assert make(context="").frames == (("$", "run"),)
    assert make(command=None, messages=["run", "a", "b"]).frames == (("$", "run"), ("%", "a"), ("%", "b"))
    assert make(command=None, messages="run").frames == (("$", "run"),)
    assert chr(FrameType.ARGUMENT) == "%"


@pytest.mark.parametrize(
    "frames",
    ["x", [["$"]], [["$$", "x"]], [["!", "x"]], [["$", 3]], [["$", "\ud800"]], [3], [["$", "x"]] * (MAX_FRAMES + 1)],
)
def test_bad_frames(frames: object) -> None:
    assert refused(frames=frames) == "bad_plan_field"


def test_delay_value() -> None:
    """「plan_value : 大等于0 且 小于32767」: 0 would never advance, so it is refused as Zero's programs do."""
    assert make(plan_value=32_766).plan_value == 32_766
    assert {refused(plan_value=each) for each in (-1, 0, 40_000)} == {"compat_out_of_range"}


def test_week_value() -> None:
    """「plan_value : 0-6,周日为0」"""
    assert refused(plan_type="week", plan_value=7) == "compat_out_of_range"
    at = next_after(schedule_of(received_at(make(plan_type="week", plan_value=0), NOW)), NOW, Past(NOW))
    assert at is not None
    assert at.strftime("%A") == "Sunday"


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (31, ["03-31", "04-30", "05-31"]),  # 「指定号数,如当月无此号,则为当月最后一天」
        (0, ["03-31", "04-30", "05-31"]),  # 「plan_value(0) : 当月最后一天」
        (-1, ["03-30", "04-29", "05-30"]),  # 「当月最后一天加此数字(因为是负数,其实时减法)得出的号数」
        (-31, ["04-01", "05-01", "06-01"]),  # 「如小于1,则为当月1号」
    ],
)
def test_month_value(value: int, days: list[str]) -> None:
    """「指定号数,如当月无此号,则为当月最后一天」; 「plan_value(0) : 当月最后一天」; 「当月最后一天加此数字(因为是负数,其实时减法)得出的号数,如小于1,则为当月1号」."""
    schedule = schedule_of(received_at(make(plan_type="month", plan_value=value), NOW))
    after, found = NOW, []
    for _ in days:
        following = next_after(schedule, after, Past(NOW))
        assert following is not None
        after = following
        found.append(f"{after:%m-%d}")
    assert found == days


def test_counters_of_a_stored_message() -> None:
    _, progress = read_plan(FIELDS | {"real_repet": 2, "skip_num": 1, "last_state": 0xF6, "exec_time": 5}, 7)
    assert progress == (2, 1, 0xF6, 5)


@pytest.mark.parametrize("text", ["ff", "FF", "00000000000000ff", "msg:api:ff", "plan:msg:api:00000000000000FF"])
def test_names_of_a_plan(text: str) -> None:
    """「plan_id : 十六 进制格式化的任务标识」"""
    assert parse_plan_name(text) in ((None, "00000000000000ff"), ("api", "00000000000000ff"))


@pytest.mark.parametrize("text", ["", "xyz", "msg:ff", "0" * 17, None, 255])
def test_other_texts_are_no_names(text: object) -> None:
    assert parse_plan_name(text) is None


def test_time_of_receipt() -> None:
    """「plan_time 有效时间或0,如为0,起始时间为服务器接收任务的当前时间」"""
    assert received_at(make(), NOW).plan_time == SECOND
    assert received_at(make(plan_time=5), NOW).plan_time == 5
    assert schedule_of(received_at(make(), NOW)).start == datetime(2026, 3, 1, 12, 5, tzinfo=UTC)


def test_immediate_plans_are_never_overdue() -> None:
    """「无计划，立即发送」"""
    immediate = received_at(make(plan_type="none", plan_time=9), NOW)
    assert (immediate.plan_time, immediate.no_keep) == (SECOND, True)
    assert received_at(make(plan_type="time"), NOW).no_keep
    assert not received_at(make(plan_type="time", plan_time=9), NOW).no_keep
    assert schedule_of(immediate) == Once(datetime(2026, 3, 1, 12, tzinfo=UTC))


def test_a_stored_plan_begins_at_its_next_instant() -> None:
    schedule = schedule_of(make(plan_time=SECOND), is_running=True)
    assert isinstance(schedule, Every)
    assert (schedule.start, schedule.repeat, schedule.counting) == (
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        3,
        "planned",
    )
    weekly = make(plan_type="week", plan_value=1, plan_time=SECOND)
    assert schedule_of(weekly, is_running=True) == schedule_of(weekly)


def test_policies() -> None:
    """「no_keep=true : 每次计划都延时一次且执行完成后再进入下一次时间」; 「即重试三次」"""
    kept, skipped = policies_of(make(no_keep=True)), policies_of(make(), timedelta(seconds=9))
    assert (kept.missed, kept.overlap) == (Missed("all", None, UNLIMITED_CATCH_UP), "queue_all")
    assert (skipped.missed.mode, skipped.overlap, skipped.timeout) == ("skip", "skip", timedelta(seconds=9))
    assert policies_of(make(no_keep=True, plan_type="week", plan_value=1)).missed.mode == "skip"
    retry = kept.retry
    assert (retry.attempts, retry.wait(3, 0.1), retry.superseded_by_next) == (4, timedelta(seconds=1), False)
    assert kept.give_up_after == 1
    assert from_json(to_json(kept)) == kept


def test_past() -> None:
    future = make(plan_time=SECOND)
    assert past_of_plan(future, schedule_of(future), NOW) is None
    assert past_of_plan(future, schedule_of(future), NOW, 2) == TaskPast(counted=2)
    late = make(plan_time=SECOND - 600)
    first = NOW.replace(microsecond=0) - timedelta(minutes=5)
    assert past_of_plan(late, schedule_of(late), NOW, 1) == TaskPast(first - timedelta(minutes=5), 1, None, first)
    weekly = make(plan_type="week", plan_value=1, plan_time=5)
    assert past_of_plan(weekly, schedule_of(weekly), NOW) is None


def test_skips() -> None:
    """「跳过设置次数(-2 重试三次 -1 暂停执行, 0 无效, 1-n 跳过次数)」"""
    assert skips_of(make(skip_set=2), 1) == 1
    assert skips_of(make(skip_set=2), 5) == 0
    assert skips_of(make(skip_set=-2), 1) == 0
    assert skips_of(make(skip_set=-1), 4) == ENDLESS_SKIPS - 4


def test_plan_of_a_task() -> None:
    plan = make(description="热水", argument="a")
    task = a_task(key=plan.key, target=Target("event", "{}"), payload=encode_plan(plan))
    assert plan_of(task) == plan
    assert plan_of(task._replace(key=f"agent:x/{plan.key}")) == plan
    assert plan_of(task._replace(key=None)) is None
    assert plan_of(task._replace(key="other")) is None
    for payload in ("{}", "[]", '{"plan": 3, "frames": []}', '{"plan": {}, "frames": []}', "3"):
        assert plan_of(task._replace(payload=payload)) is None


def test_refusals_have_two_languages() -> None:
    for code, entry in CATALOGUE.items():
        assert min(len(entry.message_zh), len(entry.hint_zh)) > 0, code


def test_limit_of_catch_up_stays_bounded_for_other_tasks() -> None:
    with pytest.raises(Refusal):
        Missed("all", None, 10_001)
    assert replace(Missed("all", None), limit=UNLIMITED_CATCH_UP).limit == UNLIMITED_CATCH_UP


@pytest.mark.parametrize("kind", [StationKind.API, StationKind.VOTE])
def test_plan_of_an_api_or_a_vote_has_a_command_frame(kind: StationKind) -> None:
    """「必须有命令内容 1 API或Vote:必须有命令帧」"""
    check_station_frames(make(), kind)
    with pytest.raises(Refusal) as caught:
        check_station_frames(make(frames=[["*", "title"], ["J", "{}"]]), kind)
    assert caught.value.code == "plan_no_command"


@pytest.mark.parametrize("frames", [[["*", "evening"], ["J", "{}"]], [["$", "evening"], ["%", "rain"]]])
def test_complete_plan_of_a_publisher_has_a_title_and_a_content(frames: list[list[str]]) -> None:
    """「2 Pub: 必须完整」"""
    check_station_frames(make(frames=frames), StationKind.PUB)


@pytest.mark.parametrize("frames", [[["*", "evening"]], [["*", "evening"], ["J", ""]], [["$", "evening"], ["#", "x"]]])
def test_incomplete_plan_of_a_publisher_is_refused(frames: list[list[str]]) -> None:
    """「2 Pub: 必须完整」"""
    with pytest.raises(Refusal) as caught:
        check_station_frames(make(frames=frames), StationKind.PUB)
    assert caught.value.code == "plan_incomplete"


def test_ordinary_task_that_calls_a_station_has_the_form_of_a_plan() -> None:
    task = a_task(target=Target("station", '{"station":"orders","command":"pack"}'))
    plan = plan_or_stand_in(task)
    assert (plan.plan_id, plan.station, plan.description) == (derive_plan_id(task.id), "orders", task.name)
    assert 0 < plan.plan_id <= MAX_PLAN_ID
    stored = make()
    assert plan_or_stand_in(task._replace(key=stored.key, payload=encode_plan(stored))) == stored
