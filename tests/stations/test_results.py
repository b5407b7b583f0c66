"""Results of plans and of tasks that call stations, with their state and content: on the socket, in the event log."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from horae.clock import SystemClock
from horae.model.events.event import EventKind
from horae.model.plans.codes import PlanState, Status
from horae.model.task import Target
from horae.service.tasks.task_request import TaskRequest
from horae.stations import Results
from horae.stations.publisher import ResultMessage

from .shop import Shop, open_shop

PATIENCE = 60.0
CLOCK = SystemClock()
STATE = {
    *("plan_id", "exec_time", "exec_state", "plan_state", "plan_time", "real_repet", "skip_set", "skip_num"),
    *("name", "planned", "run_id"),
}


async def results_of(results: Results, title: str, count: int) -> list[ResultMessage]:
    found: list[ResultMessage] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            result = await results.next()
            found += [result] if result.title == title else []
    return found


async def until_heard(shop: Shop, results: Results) -> ResultMessage:
    """Publish a plan that repeats until its first result arrives: from then on no result is missed."""
    async with shop.publisher("press") as press:
        plan = await press.publish(
            "orders", "pack", {"order": 1}, plan_type="second", plan_value=1, plan_repet=-1, description="hello"
        )
        (first,) = await results_of(results, "hello", 1)
        await press.manage("close", plan)
    return first


async def test_result_is_broadcast_with_its_state_after_it_is_settled(tmp_path: Path) -> None:
    """「执行结果将进行广播」 「主题为任务标题」 「副题为任务标识」 「计划内容为ZERO_FRAME_CONTENT」; the answer follows in Values."""
    async with open_shop(tmp_path) as shop, shop.results("ada", "press") as results:
        first = await until_heard(shop, results)
        assert first.content.keys() == STATE
        assert (first.plan_id, first.status) == (f"{first.content['plan_id']:016x}", Status.OK)
        assert first.content["exec_state"] == Status.OK
        assert first.content["plan_state"] in (PlanState.QUEUED, PlanState.EXECUTING, PlanState.CLOSED)
        assert first.content["plan_time"] >= first.content["planned"] > 0
        assert first.content["real_repet"] >= 1
        assert first.values == (1,)
        run = await shop.app.service.store.run(first.content["run_id"], None)
        assert run is not None
        assert run.ended is not None


async def test_each_failed_execution_is_broadcast_until_the_plan_is_in_error(tmp_path: Path) -> None:
    """「skip_set = 0 : 设置 skip_set = -2 skip_num = 1 ,即重试三次」 「skip_num >= 3 : 设置状态为…PLAN_ERROR…,不再执行」"""
    async with open_shop(tmp_path, worker_wait=0.05) as shop, shop.results("ada", "press") as results:
        await until_heard(shop, results)
        await shop.allow("lonely", "api", "ada")
        async with shop.publisher("press") as press:
            plan = await press.publish("lonely", "pack", {}, plan_type="time", plan_repet=1, description="alone")
            found = await results_of(results, "alone", 4)
            shown = await press.manage("message", plan)
    assert [each.status for each in found] == [Status.NO_WORKER] * 4
    fields = ("exec_state", "plan_state", "skip_set", "skip_num")
    assert [tuple(each.content[name] for name in fields) for each in found] == [
        (Status.NO_WORKER, PlanState.RETRYING, -2, 1),
        (Status.NO_WORKER, PlanState.RETRYING, -2, 2),
        (Status.NO_WORKER, PlanState.RETRYING, -2, 3),
        (Status.PLAN_ERROR, PlanState.ERROR, -2, 3),
    ]
    assert found[0].values == ("NO_WORKER: the station lonely has not joined this node",)
    assert (shown["state"], shown["last_state"]) == ("error", Status.PLAN_ERROR)


async def test_station_that_is_gone_is_broadcast_and_puts_the_plan_out_of_the_queue(tmp_path: Path) -> None:
    """「此时检查站点是否存在,如不存在,设置计划状态为ZERO_STATUS_FRAME_PLANERROR_ID,移出执行队列」"""
    async with open_shop(tmp_path) as shop, shop.results("ada", "press") as results:
        await until_heard(shop, results)
        await shop.allow("gone", "api", "ada")
        async with shop.publisher("press") as press:
            fields: dict[str, Any] = {"plan_type": "second", "plan_value": 1, "plan_repet": -1, "description": "lost"}
            await press.publish("gone", "pack", {}, **fields)
            await shop.app.service.stations.remove(shop.app.who, "gone")
            (found,) = await results_of(results, "lost", 1)
    assert (found.status, found.content["exec_state"]) == (Status.NOT_FOUND, Status.PLAN_ERROR)
    assert (found.content["plan_state"], found.content["skip_num"]) == (PlanState.ERROR, 0)


async def test_refusal_of_a_station_ends_the_occurrence_without_a_retry(tmp_path: Path) -> None:
    """0x80 is no error: 「如执行结果状态为错误(> ZERO_STATUS_ERROR_FLAG)」 begins above it."""
    async with open_shop(tmp_path) as shop, shop.results("ada", "press") as results:
        await until_heard(shop, results)
        async with shop.publisher("press") as press:
            plan = await press.publish("orders", "refuse", {}, plan_type="time", plan_repet=1, description="no")
            (found,) = await results_of(results, "no", 1)
            shown = await press.manage("message", plan)
    assert (found.status, found.values) == (Status.FAILED, ("FAILED: out of stock",))
    assert (shown["state"], shown["last_state"], shown["real_repet"]) == ("closed", Status.FAILED, 1)
    assert [each["error"] for each in shown["results"]] == ["FAILED: out of stock"]


async def test_results_are_events_with_content_for_plans_and_for_tasks_that_call_stations(tmp_path: Path) -> None:
    """「执行结果将进行广播」: on every surface, from the event log."""
    async with open_shop(tmp_path) as shop:
        target = Target("station", '{"station":"orders","command":"pack","title":"by hand"}')
        request = TaskRequest("pack by hand", "now", target, '{"order": 9}', zone="UTC")
        task = await shop.app.service.tasks.create(shop.app.who, request)
        service = shop.app.service
        async with asyncio.timeout(PATIENCE):
            while True:
                events = await service.events.after(shop.app.who, 0, 200)
                found = [each for each in events if each.event.kind is EventKind.PLAN_RESULT]
                if found:
                    break
                await CLOCK.pause(0.01)
        (encoded,) = await service.event_encoder.encode(found)
    data = json.loads(encoded.body)["data"]
    assert (data["kind"], data["detail"], data["task_id"]) == ("plan.result", "ok", task.id)
    assert data.keys() > STATE
    assert (data["title"], data["values"], data["error"], data["exec_state"]) == ("by hand", [9], None, Status.OK)
    assert data["plan_state"] == PlanState.CLOSED


async def test_foreign_subscription_neither_hears_results_nor_ends_those_of_others(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop, shop.results("ada", "press") as results:
        await until_heard(shop, results)
        await shop.allow("spy", "publisher", "eve")
        for _ in range(3):
            async with shop.results("ada", "spy"):
                pass
        await until_heard(shop, results)
