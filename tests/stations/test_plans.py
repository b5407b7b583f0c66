"""A plan over real sockets: published with acknowledgement, executed by a worker with the whole plan, managed, refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from horae.encryption import Key
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Settlement, Succeeded
from horae.model.plans.codes import Status
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.stations import Context
from horae.stations.plan_requests import PlanRequests
from horae.stations.publisher import Publisher, PublishRefused
from horae.testing import RecordingInvocation
from horae.testing.factories import NODE, a_node

from .setup import StationNode


async def test_plan_is_published_executed_and_closed(tmp_path: Path) -> None:
    """发布任务: 说明帧命令状态符设置为 ZERO_BYTE_COMMAND_PLAN(2), 必须存在帧类型为 ZERO_FRAME_PLAN 的数据帧."""
    node = StationNode(tmp_path)
    service = Service(node.store, node.clock, "UTC", SecretVault(node.store, Key.random(), node.clock))
    requests = PlanRequests(service)
    node.publisher = requests
    await node.open()
    node.target.plans = requests
    try:
        await node.allow("orders")
        await node.allow("press", "publisher")
        station = node.station("orders")
        seen: list[Context] = []

        @station.api("pack")
        def pack(number: int, context: Context) -> dict[str, int]:
            seen.append(context)
            return {"packed": number}

        press = Publisher("press", server=node.server.address, server_key=node.key, key_file=tmp_path / "press.key")
        async with node.running(station), press:
            plan_id = await press.publish("orders", "pack", {"number": 7}, plan_type="none", description="pack one")
            with pytest.raises(PublishRefused) as refused:
                await press.publish("orders", "pack", {}, plan_type="second", plan_value=0)
            assert "plan_value" in str(refused.value)
            now = node.clock.now() + timedelta(seconds=1)
            await node.store.join(a_node(renewed=now))
            claim = ClaimContext(NODE, now, timedelta(seconds=10))

            def decide(facts: Facts, entry: Entry, token: int) -> Change:
                return fire(facts, entry, token, claim)

            (claimed,) = (await node.store.claim_due(now, NODE, 10, decide)).runs
            outcome = await node.target.execute(RecordingInvocation(claimed.task, claimed.run))
            assert isinstance(outcome, Succeeded)
            run = claimed.run
            await node.store.settle([Settlement(run.id, run.token, outcome, run.started, now)], settle)
            (context,) = seen
            assert (context.plan["name"], context.plan["state"]) == (f"msg:orders:{plan_id}", "executing")
            assert context.plan["plan_time"] == int(run.planned.timestamp())
            shown = await press.manage("message", plan_id)
            assert (shown["state"], shown["last_state"], shown["results"][0]["result"]) == (
                "closed",
                Status.OK,
                outcome.result,
            )
            assert (await service.plans.get(LOCAL, plan_id)).plan.caller == "press"
    finally:
        await node.target.aclose()
