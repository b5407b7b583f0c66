"""Plans published, managed and executed by the wire, with a real engine: acknowledgement, refusals, owners."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from horae.model.plans.codes import Status
from horae.stations import PublishRefused

from .shop import open_shop


async def test_published_plan_is_acknowledged_executed_and_managed(tmp_path: Path) -> None:
    """任务发布: 说明帧命令状态符设置为 ZERO_BYTE_COMMAND_PLAN(2); plan_id : 如有global_id帧,使用此值."""
    async with open_shop(tmp_path) as shop, shop.publisher("press") as press:
        fields: dict[str, Any] = {"plan_type": "time", "plan_repet": 1, "description": "pack soon"}
        plan_id = "00000000000000ff"
        assert await press.publish("orders", "pack", {"order": 7}, plan_id=plan_id, **fields) == plan_id
        async with asyncio.timeout(30):
            context = await shop.calls.get()
        assert context.caller == f"*:{plan_id}"
        assert context.plan["plan_id"] == 0xFF
        assert context.plan["description"] == "pack soon"
        assert context.payload == {"order": 7}
        later = await press.publish("orders", "pack", {"order": 8}, plan_type="day", plan_value=1, plan_repet=-1)
        assert later in {f"{each['plan_id']:016x}" for each in await press.manage("LIST")}
        assert (await press.manage("pause", later))["state"] == "paused"
        assert (await press.manage("reset", f"msg:orders:{later}"))["state"] == "queued"
        assert (await press.manage("skip", later, "2"))["skip_set"] == 2
        assert (await press.manage("message", later))["frames"][0] == ["$", "pack"]
        assert (await press.manage("close", later))["state"] == "closed"
        assert (await press.manage("remove", later))["state"] == "closed"


async def test_refused_plans_and_commands_say_why_and_store_nothing(tmp_path: Path) -> None:
    """计算第一次执行时间,如数据错误，任务将不能正确保存."""
    async with open_shop(tmp_path) as shop, shop.publisher("press") as press:
        good: dict[str, Any] = {"plan_type": "minute", "plan_value": 5, "plan_repet": -1}
        wrong = [
            ("orders", {**good, "plan_value": 40_000}),
            ("orders", {**good, "plan_value": 0}),
            ("orders", {**good, "owner": "eve"}),
            ("nowhere", good),
        ]
        for station, fields in wrong:
            with pytest.raises(PublishRefused) as refused:
                await press.publish(station, "pack", {}, **fields)
            assert refused.value.status == Status.ARGUMENT_INVALID
            assert refused.value.text
        for words, status in (
            (("explode",), Status.NOT_SUPPORTED),
            (("pause",), Status.ARGUMENT_INVALID),
            (("skip", "ff", "x"), Status.ARGUMENT_INVALID),
            (("pause", "ff"), Status.NOT_FOUND),
        ):
            with pytest.raises(PublishRefused) as refused:
                await press.manage(*words)
            assert refused.value.status == status
        assert await press.manage("list") == []
        assert len(await shop.app.tasks()) == 0


async def test_publishers_see_and_reach_only_what_is_their_owners(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.allow("spy", "publisher", "eve")
        async with shop.publisher("press") as press, shop.publisher("spy") as spy:
            made = await press.publish("orders", "pack", {"order": 1}, plan_type="day", plan_value=1, plan_repet=-1)
            assert await spy.manage("list") == []
            for words in (("message", made), ("pause", made), ("close", made)):
                with pytest.raises(PublishRefused) as refused:
                    await spy.manage(*words)
                assert refused.value.status == Status.NOT_FOUND
            with pytest.raises(PublishRefused):
                await spy.publish("orders", "pack", {}, plan_type="day", plan_value=1, plan_repet=-1)


async def test_worker_key_may_not_publish(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop, shop.publisher("orders") as worker:
        with pytest.raises(PublishRefused) as refused:
            await worker.publish("orders", "pack", {}, plan_type="day", plan_value=1, plan_repet=-1)
        assert refused.value.status == Status.DENIED
