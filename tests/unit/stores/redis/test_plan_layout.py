"""The documented layout of plans on a real server: what other programs read there, and what they write there is followed.

Claims and settlements are those of the engine's rules; the other program is redis-cli.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from horae.clock import SystemClock
from horae.doctor.database_checks import check_database_server
from horae.encryption import Key
from horae.lifecycle.fire import fire
from horae.lifecycle.plans.layout import render_votes
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.plans.codes import PlanState
from horae.model.run import RunState
from horae.model.stations.ballot import Vote
from horae.ports.store import Claimed, RunFilter
from horae.ports.transfer import Part
from horae.service.accounts.secrets import SecretVault
from horae.service.plans.layout_follower import LayoutFollower
from horae.service.plans.plans import PlanView
from horae.service.service import Service
from horae.stations.target import BallotBox
from horae.stores.memory import MemoryStore
from horae.stores.redis.connections.status import read_status
from horae.stores.redis.store import RedisStore
from horae.testing.factories import NODE, a_new_task, a_node, a_task, an_entry
from tests.servers.redis import RedisServer
from tests.servers.server import PATIENCE

QUEUE = "plan:time:set"
FIELDS = (
    *("plan_id", "request_id", "station", "caller", "description", "plan_type", "plan_value", "plan_repet"),
    *("real_repet", "no_keep", "last_state", "plan_time", "skip_set", "skip_num", "exec_time", "messages"),
)
MINUTE = timedelta(minutes=1)


class Deployment:
    """A store with its service, and redis-cli on the same database."""

    def __init__(self, server: RedisServer, url: str) -> None:
        self._server = server
        self._database = int(urlsplit(url).path[1:])
        self.clock = SystemClock()
        self.store = RedisStore(url)
        self.service = Service(self.store, self.clock, "UTC", SecretVault(self.store, Key.random(), self.clock))
        self.woken = 0

        async def principal_of() -> Any:
            return LOCAL

        self.follower = LayoutFollower(self.service, self.store, self.clock, principal_of, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def cli(self, *words: str) -> str:
        return self._server.ask(*words, database=self._database)

    def score(self, member: str) -> str:
        return self.cli("ZSCORE", QUEUE, member)

    def message(self, member: str) -> dict[str, Any]:
        text = self.cli("GET", member)
        return json.loads(text) if text else {}

    def edit(self, member: str, **fields: Any) -> None:
        self.cli("SET", member, json.dumps(self.message(member) | fields, ensure_ascii=False))

    async def add(self, **fields: Any) -> str:
        """Publish a plan in Horae; return its member."""
        default = {"station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": 3, "command": "run"}
        # Published plans need their station; import does not.
        start = int(self.clock.now().timestamp()) + 60
        (result,) = await self.service.plans.import_plans(LOCAL, [{"plan_time": start, **default, **fields}])
        assert result.refusal is None, result.refusal
        return f"plan:{result.name}"

    async def claim(self, now: datetime) -> tuple[Claimed, ...]:
        context = ClaimContext(NODE, now, timedelta(seconds=10))

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            return fire(facts, entry, token, context)

        return (await self.store.claim_due(now, NODE, 10, decide)).runs

    async def end(self, claimed: Claimed, now: datetime, outcome: Outcome | None = None) -> None:
        run = claimed.run
        given = Succeeded('{"packed": 7}') if outcome is None else outcome
        stale = await self.store.settle([Settlement(run.id, run.token, given, now, now)], settle)
        assert not stale

    async def view(self, member: str) -> PlanView:
        return await self.service.plans.get(LOCAL, member.rpartition(":")[2])

    def due(self, member: str) -> datetime:
        return datetime.fromtimestamp(float(self.score(member)), tz=self.clock.now().tzinfo)


@pytest.fixture
async def deployment(redis_server: RedisServer, redis_url: str) -> AsyncIterator[Deployment]:
    made = Deployment(redis_server, redis_url)
    await made.store.open()
    await made.store.join(a_node(renewed=made.clock.now()))
    try:
        yield made
        assert await made.store.check() == ()
    finally:
        await made.store.close()


@pytest.fixture
async def redis_cluster() -> AsyncIterator[RedisServer]:
    """A cluster of one server."""
    server = RedisServer(settings={"cluster-enabled": "yes", "databases": "1"})
    await asyncio.to_thread(server.start)
    try:
        server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        async with asyncio.timeout(PATIENCE):
            while "cluster_state:ok" not in server.ask("CLUSTER", "INFO"):
                await SystemClock().pause(0.02)
        yield server
    finally:
        await asyncio.to_thread(server.stop)


# --- what other programs read ------------------------------------------------------------------------------------------------


async def test_queue_has_the_member_and_the_unix_second_of_each_plan(deployment: Deployment) -> None:
    """Zero 1. 「Key plan:time:set; Name plan:msg:[station]:[plan_id] 十六进制格式化的任务标识; score Unix时间戳」"""
    member = await deployment.add(plan_id=255)
    assert member == "plan:msg:api:00000000000000ff"
    assert deployment.cli("TYPE", QUEUE) == "zset"
    assert deployment.cli("ZRANGE", QUEUE, "0", "-1") == member
    view = await deployment.view(member)
    assert deployment.score(member) == str(view.status.plan_time)


async def test_message_has_all_sixteen_fields(deployment: Deployment) -> None:
    """Zero 2. 「使用String , Json存储: Json格式的消息体(见数据格式)」"""
    member = await deployment.add(plan_id=2**62, request_id="r-1", caller="press", description="玫瑰", argument="5")
    message = deployment.message(member)
    assert tuple(sorted(message)) == tuple(sorted(FIELDS))
    assert (message["plan_id"], message["request_id"], message["station"]) == (2**62, "r-1", "api")
    assert (message["caller"], message["description"], message["messages"]) == ("press", "玫瑰", ["run", "5"])
    assert (message["plan_type"], message["plan_value"], message["plan_repet"]) == (3, 1, 3)
    assert (message["real_repet"], message["no_keep"], message["last_state"]) == (0, False, 0)
    assert (message["skip_set"], message["skip_num"], message["exec_time"]) == (0, 0, 0)
    assert str(message["plan_time"]) == deployment.score(member)


async def test_answers_are_an_array_of_description_and_content_frames(deployment: Deployment) -> None:
    """Zero 3. 「执行结果的原始数据(说明帧 + 内容帧)的Json数组」"""
    member = await deployment.add()
    work = member.replace("plan:msg:", "plan:work:")
    due = deployment.due(member)
    (claimed,) = await deployment.claim(due)
    assert deployment.cli("EXISTS", work) == "0"
    await deployment.end(claimed, due)
    assert json.loads(deployment.cli("GET", work)) == [["\x01\x01J", '{"packed":7}']]


async def test_votes_are_shown_as_they_come_in(deployment: Deployment) -> None:
    """「参与者在执行完成才登记(后续版本可能修改为提前登记)」: those of a vote are registered up front, each with its answer."""
    member = await deployment.add()
    work = member.replace("plan:msg:", "plan:work:")
    (claimed,) = await deployment.claim(deployment.due(member))
    box, task_id = BallotBox(deployment.store, deployment.clock), claimed.run.task_id
    await box.open("local", "occ_1", task_id, ("ann", "bob"))
    assert json.loads(deployment.cli("GET", work)) == [["\x00\x03", "ann"], ["\x00\x03", "bob"]]
    assert await box.cast("local", "occ_1", "bob", Vote(1, "yes"))
    assert json.loads(deployment.cli("GET", work)) == [["\x00\x03", "ann"], ["\x01\x01T", "yes", "bob"]]
    assert await box.cast("local", "occ_1", "ann", Vote(1, "AAE=", [["B", "AAE="], ["T", "and"]]))
    voted = [["\x02\x01BT", "AAE=", "and", "ann"], ["\x01\x01T", "yes", "bob"]]
    assert json.loads(deployment.cli("GET", work)) == voted
    final = await box.open("local", "occ_1", task_id, ("ann", "bob"), is_new_attempt=False)
    assert json.loads(render_votes(final.result())) == voted
    assert not await box.cast("local", "occ_1", "bob", Vote(1, "no"))
    # The ballot of a task that is no plan, or whose plan was removed, is shown nowhere.
    await box.open("local", "occ_2", "tsk_other", ("ann",))
    assert deployment.cli("KEYS", "plan:work:*") == work


async def test_state_counters_and_score_follow_an_execution(deployment: Deployment) -> None:
    """「设置计划状态,并保存之」; 「未达结束条件 : 正常计算下一次执行计划」; 「已达结束条件 : 则正常删除」."""
    member = await deployment.add(plan_repet=2)
    first = deployment.due(member)
    (claimed,) = await deployment.claim(first)
    message = deployment.message(member)
    assert (message["last_state"], message["real_repet"], deployment.due(member)) == (3, 0, first)
    await deployment.end(claimed, first)
    message = deployment.message(member)
    assert (message["last_state"], message["real_repet"], deployment.due(member)) == (1, 1, first + MINUTE)
    (claimed,) = await deployment.claim(first + MINUTE)
    await deployment.end(claimed, first + MINUTE)
    assert deployment.cli("EXISTS", QUEUE) == "0"
    assert deployment.message(member)["real_repet"] == 2
    assert 86_000 < int(deployment.cli("TTL", member)) <= 86_400
    assert 86_000 < int(deployment.cli("TTL", member.replace("msg", "work"))) <= 86_400


async def test_plan_in_error_is_out_of_the_queue_with_its_message(deployment: Deployment) -> None:
    """「skip_num >= 3 : 设置状态为ZERO_STATUS_FRAME_PLAN_ERROR_ID,不再执行」"""
    member = await deployment.add()
    now = deployment.due(member)
    for failures in (1, 2, 3):
        (claimed,) = await deployment.claim(now)
        await deployment.end(claimed, now, Failed("broken"))
        message = deployment.message(member)
        assert (message["skip_set"], message["skip_num"], deployment.score(member) != "") == (-2, failures, True)
        now += timedelta(seconds=1)
    (claimed,) = await deployment.claim(now)
    await deployment.end(claimed, now, Failed("broken"))
    assert (deployment.message(member)["last_state"], deployment.score(member)) == (0xF6, "")


async def test_removed_plan_leaves_no_key(deployment: Deployment) -> None:
    member = await deployment.add(plan_id=9)
    await deployment.service.plans.close(LOCAL, "9")
    assert (deployment.score(member), deployment.message(member)["plan_id"]) == ("", 9)
    await deployment.service.plans.remove(LOCAL, "9")
    assert deployment.cli("KEYS", "plan:*") == ""
    assert deployment.cli("KEYS", "{horae}:plan_*") == ""


# --- what other programs write -------------------------------------------------------------------------------------------------


async def test_claim_does_not_start_what_was_removed_from_the_queue(deployment: Deployment) -> None:
    """「所有可执行的计划,都必须存在于执行队列中,否则将永不执行」"""
    member = await deployment.add()
    due = deployment.due(member)
    deployment.cli("ZREM", QUEUE, member)
    assert await deployment.claim(due) == ()
    assert (await deployment.view(member)).status.state is PlanState.PAUSED
    assert deployment.message(member)["plan_id"] > 0


async def test_plan_that_was_put_back_by_hand_is_executed(deployment: Deployment) -> None:
    """「不在执行队列中的计划,可删除重新走计划流程,或手工修改执行计划」"""
    member = await deployment.add()
    due = deployment.due(member)
    deployment.cli("ZREM", QUEUE, member)
    await deployment.follower.step()
    deployment.cli("ZADD", QUEUE, str(int(due.timestamp()) + 5), member)
    await deployment.follower.step()
    assert await deployment.claim(due) == ()
    (claimed,) = await deployment.claim(due + timedelta(seconds=5))
    await deployment.end(claimed, due + timedelta(seconds=5))
    assert deployment.due(member) == due + timedelta(seconds=65)


async def test_plan_in_error_runs_again_after_a_hand_has_cleared_its_state(deployment: Deployment) -> None:
    """「计划状态为ZERO_STATUS_FRAME_PLANERROR_ID等同于剥夺计划执行权」: a score alone does not give it back."""
    member = await deployment.add(plan_type="time", plan_repet=1)
    now = deployment.due(member)
    for _ in range(4):
        (claimed,) = await deployment.claim(now)
        await deployment.end(claimed, now, Failed("broken"))
        now += timedelta(seconds=1)
    deployment.cli("ZADD", QUEUE, str(int(now.timestamp())), member)
    await deployment.follower.step()
    assert deployment.score(member) == ""
    deployment.edit(member, last_state=0)
    deployment.cli("ZADD", QUEUE, str(int(now.timestamp())), member)
    await deployment.follower.step()
    (claimed,) = await deployment.claim(now)
    await deployment.end(claimed, now)
    view = await deployment.view(member)
    assert (view.status.state, view.status.real_repet) == (PlanState.CLOSED, 1)


async def test_plan_whose_message_was_deleted_is_closed(deployment: Deployment) -> None:
    """「取出任务,如任务无法取出,将不再做任何处理」"""
    member = await deployment.add()
    due = deployment.due(member)
    deployment.cli("DEL", member)
    assert await deployment.claim(due) == ()
    assert (await deployment.view(member)).status.state is PlanState.CLOSED
    assert deployment.cli("KEYS", "plan:*") == ""


@pytest.mark.parametrize("seconds", [-30, 90])
async def test_score_of_another_program_moves_the_plan(deployment: Deployment, seconds: int) -> None:
    """A claim at the former instant starts nothing when the score is later; an earlier one is found before."""
    member = await deployment.add()
    due = deployment.due(member)
    moved = due + timedelta(seconds=seconds)
    deployment.cli("ZADD", QUEUE, str(int(moved.timestamp())), member)
    if seconds < 0:
        await deployment.follower.step()
        assert deployment.woken == 1
    else:
        assert await deployment.claim(due) == ()
    assert await deployment.claim(moved - timedelta(seconds=1)) == ()
    (claimed,) = await deployment.claim(moved)
    assert claimed.run.planned == moved
    await deployment.end(claimed, moved)
    assert deployment.due(member) == moved + MINUTE


async def test_past_score_means_now(deployment: Deployment) -> None:
    member = await deployment.add()
    deployment.cli("ZADD", QUEUE, "1", member)
    await deployment.follower.step()
    now = deployment.clock.now()
    (claimed,) = await deployment.claim(now)
    assert now - claimed.run.planned < timedelta(seconds=10)


async def test_score_moves_a_retry_that_waits(deployment: Deployment) -> None:
    member = await deployment.add()
    due = deployment.due(member)
    (claimed,) = await deployment.claim(due)
    await deployment.end(claimed, due, Failed("broken"))
    later = due + timedelta(seconds=30)
    deployment.cli("ZADD", QUEUE, str(int(later.timestamp())), member)
    assert await deployment.claim(due + timedelta(seconds=5)) == ()
    (claimed,) = await deployment.claim(later)
    assert (claimed.run.planned, claimed.run.attempt) == (due, 2)


async def test_move_during_an_execution_moves_the_next_one(deployment: Deployment) -> None:
    member = await deployment.add()
    due = deployment.due(member)
    (claimed,) = await deployment.claim(due)
    moved = due + timedelta(minutes=10)
    deployment.cli("ZADD", QUEUE, str(int(moved.timestamp())), member)
    await deployment.end(claimed, due)
    assert deployment.due(member) == moved
    assert await deployment.claim(due + MINUTE) == ()
    (claimed,) = await deployment.claim(moved)
    assert claimed.run.planned == moved


async def test_edited_fields_are_those_of_the_next_call(deployment: Deployment) -> None:
    member = await deployment.add(argument="1")
    due = deployment.due(member)
    deployment.edit(member, description="浇水", messages=["run", "2", "3"], plan_value=5, plan_repet=-1, no_keep=True)
    (claimed,) = await deployment.claim(due)
    plan = (await deployment.view(member)).plan
    assert (plan.description, plan.plan_value, plan.plan_repet, plan.no_keep) == ("浇水", 5, -1, True)
    assert plan.frames == (("$", "run"), ("%", "2"), ("%", "3"))
    assert claimed.task.name == "浇水"
    assert json.loads(claimed.task.payload)["frames"][2] == ["%", "3"]
    await deployment.end(claimed, due)
    assert deployment.due(member) == due + 5 * MINUTE


async def test_edited_counters_are_those_that_count(deployment: Deployment) -> None:
    """「skip_set : 1-n 跳过次数」, 「real_repet : 执行次数」."""
    member = await deployment.add(plan_repet=5)
    due = deployment.due(member)
    deployment.edit(member, skip_set=1, real_repet=3)
    await deployment.follower.step()
    assert await deployment.claim(due) == ()
    message = deployment.message(member)
    assert (message["real_repet"], message["skip_set"], message["skip_num"]) == (4, 1, 1)
    (claimed,) = await deployment.claim(due + MINUTE)
    await deployment.end(claimed, due + MINUTE)
    assert (await deployment.view(member)).status.state is PlanState.CLOSED


async def test_edited_plan_time_moves_the_plan_like_a_score(deployment: Deployment) -> None:
    member = await deployment.add()
    due = deployment.due(member)
    deployment.edit(member, plan_time=int(due.timestamp()) + 7)
    await deployment.follower.step()
    assert deployment.due(member) == due + timedelta(seconds=7)


@pytest.mark.parametrize("text", ["no json", "[]", '{"plan_id": 4}', '{"plan_type": 99}', "\udcff\udcfe"])
async def test_unreadable_message_stops_the_plan_and_stays(deployment: Deployment, text: str) -> None:
    """The claim goes on with the other plans; the doctor names the plan. Mended and put back, it is executed."""
    member, other = await deployment.add(), await deployment.add()
    good, due = deployment.cli("GET", member), max(deployment.due(member), deployment.due(other))
    deployment.cli("SET", member, text)
    found = deployment.cli("GET", member) if text.isascii() else None
    claimed = await deployment.claim(due)
    assert [f"plan:msg:api:{json.loads(each.task.payload)['plan']['plan_id']:016x}" for each in claimed] == [other]
    assert deployment.score(member) == ""
    assert found is None or deployment.cli("GET", member) == found
    assert member in deployment.cli("HKEYS", "{horae}:quarantined_plans")
    deployment.cli("SET", member, good)
    deployment.cli("ZADD", QUEUE, str(int(due.timestamp())), member)
    await deployment.follower.step()
    assert deployment.cli("EXISTS", "{horae}:quarantined_plans") == "0"
    assert len(await deployment.claim(due)) == 1


@pytest.mark.parametrize("words", [("ZREM", QUEUE), ("ZADD", QUEUE, "9999999999"), ("DEL",)])
async def test_change_between_the_decision_and_the_commit_of_a_claim_wins(
    deployment: Deployment, words: tuple[str, ...]
) -> None:
    """The script that would write the run compares member, score and message."""
    member = await deployment.add()
    due = deployment.due(member)
    connections = deployment.store._connections
    run_script = connections.run_script
    commits = 0

    async def change_before(name: str, keys: Any, values: Any) -> Any:
        nonlocal commits
        if name == "commit":
            commits += 1
            if commits == 1:
                await asyncio.to_thread(deployment.cli, *words, member)
        return await run_script(name, keys, values)

    vars(connections)["run_script"] = change_before
    assert await deployment.claim(due) == ()
    assert commits == 2
    page = await deployment.store.runs(RunFilter("local"), None, 10)
    assert [run.state for run in page.items if run.started is not None] == []


async def test_key_of_another_type_stops_the_plan_and_no_claim(deployment: Deployment) -> None:
    member = await deployment.add()
    due = deployment.due(member)
    deployment.cli("DEL", member)
    deployment.cli("LPUSH", member, "x")
    assert await deployment.claim(due) == ()
    assert (await deployment.view(member)).status.state is PlanState.CLOSED


# --- plans that other programs add ------------------------------------------------------------------------------------------------


def a_message(**fields: Any) -> str:
    given = {"station": "api", "plan_type": 3, "plan_value": 2, "plan_repet": 2, "messages": ["run", "1"]}
    return json.dumps(given | fields, ensure_ascii=False)


@pytest.mark.parametrize("name", ["plan:msg:api:1f4", "plan:msg:api:00000000000001F4"])
async def test_plan_of_another_program_is_adopted_under_its_name(deployment: Deployment, name: str) -> None:
    due = int(deployment.clock.now().timestamp()) + 3600
    deployment.cli("SET", name, a_message(description="外部", plan_id=500))
    deployment.cli("ZADD", QUEUE, str(due), name)
    await deployment.follower.step()
    assert deployment.cli("ZRANGE", QUEUE, "0", "-1") == name
    view = await deployment.view(name)
    assert (view.plan.description, view.status.plan_time, view.owner) == ("外部", due, "local")
    assert tuple(sorted(deployment.message(name))) == tuple(sorted(FIELDS))
    at = datetime.fromtimestamp(due, tz=deployment.clock.now().tzinfo)
    (claimed,) = await deployment.claim(at)
    await deployment.end(claimed, at)
    assert (deployment.due(name), deployment.message(name)["real_repet"]) == (at + 2 * MINUTE, 1)
    (claimed,) = await deployment.claim(at + 2 * MINUTE)
    await deployment.end(claimed, at + 2 * MINUTE)
    assert (deployment.score(name), deployment.message(name)["real_repet"]) == ("", 2)
    assert deployment.cli("KEYS", "plan:msg:*") == name


async def test_late_plan_of_another_program_is_executed_at_once(deployment: Deployment) -> None:
    """「系统取出小于当前时间的所有键,循环执行」"""
    deployment.cli("SET", "plan:msg:api:7", a_message(plan_type=1, plan_value=0))
    deployment.cli("ZADD", QUEUE, "1000", "plan:msg:api:7")
    await deployment.follower.step()
    (claimed,) = await deployment.claim(deployment.clock.now() + timedelta(seconds=1))
    await deployment.end(claimed, deployment.clock.now())
    assert (await deployment.view("plan:msg:api:7")).status.state is PlanState.CLOSED
    page = await deployment.store.runs(RunFilter("local", claimed.task.id), None, 10)
    assert [run.state for run in page.items] == [RunState.SUCCEEDED]


async def test_deleted_plan_may_be_published_again_under_its_id(deployment: Deployment) -> None:
    """「可删除重新走计划流程」"""
    due = str(int(deployment.clock.now().timestamp()) + 600)
    for description in ("one", "two"):
        deployment.cli("SET", "plan:msg:api:7", a_message(description=description))
        deployment.cli("ZADD", QUEUE, due, "plan:msg:api:7")
        await deployment.follower.step()
        assert (await deployment.view("plan:msg:api:7")).plan.description == description
        deployment.cli("DEL", "plan:msg:api:7")
        deployment.cli("ZREM", QUEUE, "plan:msg:api:7")
        await deployment.follower.step()
        assert (await deployment.view("plan:msg:api:7")).status.state is PlanState.CLOSED


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plan:msg:api:zz", a_message()),
        ("plan:msg:api:0", a_message()),
        ("other", a_message()),
        ("plan:msg:api:7", None),
        ("plan:msg:api:7", "no json"),
        ("plan:msg:api:7", a_message(plan_value=0)),
        ("plan:msg:api:7", a_message(plan_id=8)),
        ("plan:msg:api:7", a_message(messages=[])),
    ],
)
async def test_malformed_plan_of_another_program_is_left_alone(
    deployment: Deployment, name: str, message: str | None
) -> None:
    good = await deployment.add()
    if message is not None:
        deployment.cli("SET", name, message)
    deployment.cli("ZADD", QUEUE, "5", name)
    await deployment.follower.step()
    assert len(await deployment.claim(deployment.due(good))) == 1
    assert deployment.cli("HKEYS", "{horae}:quarantined_plans") == name
    assert deployment.score(name) == "5"
    news = await deployment.store.find_plan_news(deployment.clock.now())
    assert news.added == ()


async def test_first_of_two_names_of_one_id_is_the_plan(deployment: Deployment) -> None:
    due = str(int(deployment.clock.now().timestamp()) + 600)
    for name in ("plan:msg:api:7", "plan:msg:api:07"):
        deployment.cli("SET", name, a_message())
        deployment.cli("ZADD", QUEUE, due, name)
        await deployment.follower.step()
    assert deployment.cli("HKEYS", "{horae}:quarantined_plans") == "plan:msg:api:07"
    assert len(await deployment.service.plans.all(LOCAL)) == 1


async def test_plans_of_a_moved_deployment_are_shown(deployment: Deployment) -> None:
    source = MemoryStore()
    service = Service(source, deployment.clock, "UTC", SecretVault(source, Key.random(), deployment.clock))
    due = int(deployment.clock.now().timestamp()) + 600
    (result,) = await service.plans.import_plans(LOCAL, [json.loads(a_message(plan_id=7, plan_time=due))])
    assert result.refusal is None
    for part in Part:
        page = await source.export_page(part)
        await deployment.store.import_page(part, page.items)
    assert deployment.score("plan:msg:api:0000000000000007") == str(due)


# --- what it costs ------------------------------------------------------------------------------------------------------------------


async def test_tasks_that_are_no_plans_cost_no_command_more(deployment: Deployment) -> None:
    """Scripts of one claim and one settlement, with the layout on: one each, beside the reservation."""
    task = a_task()
    now = deployment.clock.now()
    await deployment.store.add([a_new_task(task, entries=[an_entry(task, due=now)])])
    scripts: list[str] = []
    connections = deployment.store._connections
    run_script = connections.run_script

    async def note(name: str, keys: Any, values: Any) -> Any:
        scripts.append(name)
        return await run_script(name, keys, values)

    vars(connections)["run_script"] = note
    (claimed,) = await deployment.claim(now)
    await deployment.end(claimed, now)
    assert scripts == ["reserve", "commit", "commit"]


async def test_task_with_a_key_like_that_of_a_plan_is_an_ordinary_task(deployment: Deployment) -> None:
    task = a_task(key="plan:holidays")
    now = deployment.clock.now()
    await deployment.store.add([a_new_task(task, entries=[an_entry(task, due=now)])])
    (claimed,) = await deployment.claim(now)
    await deployment.end(claimed, now)
    assert deployment.cli("KEYS", "plan:*") == ""


async def test_plan_whose_payload_is_no_plan_any_more_leaves_the_layout(deployment: Deployment) -> None:
    member = await deployment.add()
    view, due = await deployment.view(member), deployment.due(member)

    def empty(facts: Facts) -> Change:
        return Change(task=facts.task._replace(payload="{}", version=facts.task.version + 1))

    await deployment.store.change(view.task_id, None, empty)
    assert deployment.cli("KEYS", "plan:*") == ""
    assert len(await deployment.claim(due)) == 1


async def test_names_of_the_layout_belong_to_the_deployment_without_a_prefix(redis_url: str) -> None:
    store = RedisStore(f"{redis_url}?prefix=other")
    await store.open()
    try:
        assert not store.has_plan_layout
    finally:
        await store.close()


async def test_cluster_has_no_layout_and_the_doctor_says_so(redis_cluster: RedisServer) -> None:
    url = f"redis+cluster://127.0.0.1:{redis_cluster.port}/0"
    store = RedisStore(url)
    await store.open()
    try:
        assert not store.has_plan_layout
        service = Service(store, SystemClock(), "UTC", SecretVault(store, Key.random(), SystemClock()))
        (result,) = await service.plans.import_plans(LOCAL, [json.loads(a_message())])
        assert result.task_id is not None
        assert redis_cluster.ask("KEYS", "plan:*") == ""
    finally:
        await store.close()
    status = await read_status(url, SystemClock())
    (check,) = (each for each in check_database_server(status, MINUTE) if each.code == "plan_layout")
    assert (check.grade, "hash tag" in check.message.in_language("en")) == ("warning", True)


async def test_doctor_names_a_plan_that_cannot_be_used(deployment: Deployment) -> None:
    status = await read_status(deployment.store.url, deployment.clock)
    (check,) = (each for each in check_database_server(status, MINUTE) if each.code == "plan_layout")
    assert check.grade == "ok"
    deployment.cli("ZADD", QUEUE, "5", "plan:msg:api:7")
    await deployment.follower.step()
    status = await read_status(deployment.store.url, deployment.clock)
    (check,) = (each for each in check_database_server(status, MINUTE) if each.code == "plan_layout")
    text = check.message.in_language("en", **check.facts)
    assert check.grade == "warning"
    assert "the plan 'plan:msg:api:7' in redis cannot be used: it has no message" in text.lower()
    deployment.cli("ZREM", QUEUE, "plan:msg:api:7")
    status = await read_status(deployment.store.url, deployment.clock)
    assert status.quarantined_plans == {}


async def test_login_without_the_right_has_no_layout(deployment: Deployment) -> None:
    """Its plans are executed all the same."""
    rules = ("on", ">secret", "~{horae}:*", "&*", "+@all")
    deployment.cli("ACL", "SETUSER", "narrow", *rules)
    try:
        store = RedisStore(deployment.store.url.replace("redis://", "redis://narrow:secret@"))
        await store.open()
        try:
            assert not store.has_plan_layout
        finally:
            await store.close()
    finally:
        deployment.cli("ACL", "DELUSER", "narrow")


async def test_plan_of_the_time_before_the_layout_is_shown(deployment: Deployment) -> None:
    member = await deployment.add()
    for key in (QUEUE, member, "{horae}:plan_rows", "{horae}:plan_tasks"):
        deployment.cli("DEL", key)
    await deployment.follower.show_known()
    assert deployment.cli("ZRANGE", QUEUE, "0", "-1") == member
    assert deployment.message(member)["plan_value"] == 1
