"""Plans that publishers send over ZeroMQ, the management commands, and the plan that a worker gets with a call."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from horae.model.plans.codes import CommandByte, FrameType, Status
from horae.model.stations.station import Station, StationKind
from horae.ports.target import Invocation
from horae.stations.frames import Frame, Message
from horae.stations.hub import Identity
from horae.stations.plan_requests import PlanRequests
from tests.unit.service.service_harness import ADA, ServiceHarness, open_harness

STATION_KEY = "k" * 40
PLAN = {"plan_type": "minute", "plan_value": 5, "plan_repet": 3, "description": "roses"}


def publisher(harness: ServiceHarness, owner: str = "ada") -> Identity:
    return Identity(
        Station(owner=owner, name="press", kind=StationKind.PUBLISHER, keys=(), created=harness.clock.now())
    )


async def allow_garden(harness: ServiceHarness) -> None:
    """Make the station that the plans name."""
    await harness.service.stations.allow(ADA, "garden", STATION_KEY)


def plan_message(plan: Any = PLAN, global_id: bytes | None = b"00000000000000ff") -> Message:
    frames = [
        Frame(FrameType.REQUEST_ID, b"r1"),
        Frame(FrameType.STATION_ID, b"garden"),
        Frame(FrameType.COMMAND, b"water"),
        Frame(FrameType.CONTENT_JSON, b'{"liters": 2}'),
        Frame(FrameType.CONTENT_BINARY, b"\x00\xff"),
        Frame(FrameType.PLAN, json.dumps(plan).encode()),
    ]
    last = [] if global_id is None else [Frame(FrameType.GLOBAL_ID, global_id)]
    return Message(CommandByte.PLAN, (*frames, *last))


async def manage(requests: PlanRequests, identity: Identity, command: str, *arguments: str) -> tuple[int, Any]:
    frames = (Frame(FrameType.COMMAND, command.encode()), *(Frame(FrameType.ARGUMENT, a.encode()) for a in arguments))
    status, answer = await requests.handle(identity, Message(CommandByte.NONE, frames))
    ((kind, data),) = answer
    return status, json.loads(data) if kind is FrameType.CONTENT_JSON else data.decode()


async def test_plan_is_published_once_with_its_global_id() -> None:
    """「plan_id : 如有global_id帧,使用此值,如无系统生成一个global_id」"""
    async with open_harness() as harness:
        await allow_garden(harness)
        requests, identity = PlanRequests(harness.service), publisher(harness)
        for _ in range(2):
            answer = await requests.handle(identity, plan_message())
            assert answer == (Status.PLAN, [(FrameType.GLOBAL_ID, b"00000000000000ff")])
        (view,) = await harness.service.plans.all(ADA)
        assert (view.plan.caller, view.plan.station, view.plan.description) == ("press", "garden", "roses")
        assert view.plan.frames == (("$", "water"), ("J", '{"liters": 2}'), ("B", "AP8="))
        status, _ = await requests.handle(identity, plan_message(global_id=None))
        assert status == Status.PLAN
        assert len(await harness.service.plans.all(ADA)) == 2


async def test_bad_plans_are_refused() -> None:
    """「计算第一次执行时间,如数据错误，任务将不能正确保存」"""
    async with open_harness() as harness:
        await allow_garden(harness)
        requests, identity = PlanRequests(harness.service), publisher(harness)
        for message, expected in (
            (plan_message(PLAN | {"plan_value": 0}), Status.ARGUMENT_INVALID),
            (plan_message(global_id=b"xyz"), Status.ARGUMENT_INVALID),
            (plan_message(PLAN | {"owner": "eve"}), Status.ARGUMENT_INVALID),
            (plan_message([1]), Status.FRAME_INVALID),
        ):
            assert (await requests.handle(identity, message))[0] == expected
        assert await harness.service.plans.all(ADA) == []


async def test_management_commands() -> None:
    async with open_harness() as harness:
        await allow_garden(harness)
        requests, identity = PlanRequests(harness.service), publisher(harness)
        await requests.handle(identity, plan_message())
        name = "msg:garden:00000000000000ff"
        status, listed = await manage(requests, identity, "LIST")
        assert (status, [each["name"] for each in listed]) == (Status.OK, [name])
        assert (await manage(requests, identity, "message", name))[1]["messages"][0] == "water"
        assert (await manage(requests, identity, "skip", name, "2"))[1]["counter"] == "Skip(0/2)"
        assert (await manage(requests, identity, "skip", name, "x"))[0] == Status.ARGUMENT_INVALID
        assert (await manage(requests, identity, "pause", name))[1]["state"] == "paused"
        assert (await manage(requests, identity, "reset", name))[1]["state"] == "skipping"
        assert (await manage(requests, identity, "remove", name))[0] == Status.ARGUMENT_INVALID
        assert (await manage(requests, publisher(harness, "bob"), "close", name))[0] == Status.NOT_FOUND
        assert (await manage(requests, identity, "close", name))[1]["state"] == "closed"
        assert (await manage(requests, identity, "remove", name))[0] == Status.OK
        assert (await manage(requests, identity, "explode"))[0] == Status.NOT_SUPPORTED


async def test_worker_gets_the_whole_plan() -> None:
    """「倒数第二帧为完整的计划信息(JSON)…特别有用的信息为计划执行时间(plan_time)」"""
    async with open_harness() as harness:
        await allow_garden(harness)
        requests, identity = PlanRequests(harness.service), publisher(harness)
        await requests.handle(identity, plan_message())
        harness.advance(timedelta(minutes=5))
        (run,) = await harness.claim()
        task = (await harness.tasks.get(ADA, run.task_id)).task
        invocation = cast("Invocation", SimpleNamespace(task=task, run=run, trace="00-1"))
        document = await requests.document("ada", 255, invocation)
        assert document is not None
        assert (document["plan_time"], document["state"]) == (int(run.planned.timestamp()), "executing")
        assert (document["plan_id"], document["messages"][0]) == (255, "water")
        assert await requests.document("ada", 254, invocation) is None
        assert await requests.document("bob", 255, invocation) is None
