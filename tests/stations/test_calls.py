"""Calls of stations over real sockets: API, vote, pub, WAIT, typed payloads, results, and what happens without a worker."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Failed, Skipped, Succeeded
from horae.model.plans.codes import FrameType
from horae.model.stations.ballot import BALLOT_KIND, ballot_from
from horae.stations import Context, Failure
from horae.stations.frames import parse_json

from .setup import open_node

PACK = '{"station":"orders","command":"pack","title":"pack orders"}'


@dataclass
class Order:
    number: int
    lines: list[str]


async def test_api_gets_typed_payload_and_plan(tmp_path: Path) -> None:
    """最后一个帧为plan_id(等同于global_id). 倒数第二帧为完整的计划信息(JSON)."""
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        station = node.station("orders")
        seen: list[Context] = []

        @station.api("pack")
        def pack(order: Order, context: Context) -> dict[str, object]:
            seen.append(context)
            context.wait()
            return {"packed": order.number, "lines": len(order.lines)}

        async with node.running(station):
            invocation = node.invocation(PACK, payload='{"number":7,"lines":["a","b"]}')
            outcome = await node.target.execute(invocation)
        assert isinstance(outcome, Succeeded)
        assert json.loads(outcome.result or "") == {"packed": 7, "lines": 2}
        assert invocation.heartbeats == 1
        (context,) = seen
        assert [frame.type for frame in context.frames[-2:]] == [FrameType.PLAN, FrameType.GLOBAL_ID]
        assert context.caller == f"*:{context.plan['plan_id']:016x}"
        assert context.frames[-1].data.decode() == f"{context.plan['plan_id']:016x}"
        assert context.plan["description"] == "pack orders"
        assert context.key == invocation.key


async def test_statuses_of_functions_become_outcomes(tmp_path: Path) -> None:
    """如执行结果状态为错误(> ZERO_STATUS_ERROR_FLAG)."""
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        station = node.station("orders")

        @station.api()
        async def refuse() -> None:
            raise Failure("out of stock")

        @station.api()
        async def crash() -> None:
            raise OSError("disk full")

        @station.api()
        async def typed(number: int) -> int:
            return number

        async with node.running(station):
            cases = {
                "refuse": ("FAILED: out of stock", True),
                "crash": ("ERROR: OSError: disk full", False),
                "typed": ("ARGUMENT_INVALID: number is missing", True),
                "unknown": ("NOT_SUPPORTED: no worker of orders has the API unknown", True),
            }
            for command, (error, is_final) in cases.items():
                outcome = await node.target.execute(node.invocation(f'{{"station":"orders","command":"{command}"}}'))
                assert isinstance(outcome, Failed)
                assert (outcome.error, outcome.permanent) == (error, is_final)
            plan = '{"station":"orders","command":"refuse","plan":"00000000000000ff"}'
            assert await node.target.execute(node.invocation(plan)) == Skipped("FAILED: out of stock")


async def test_station_that_does_not_exist_is_final_and_one_without_worker_is_retried(tmp_path: Path) -> None:
    """此时检查站点是否存在,如不存在,设置计划状态为ZERO_STATUS_FRAME_PLANERROR_ID,移出执行队列."""
    async with open_node(tmp_path, worker_wait=0.05) as node:
        outcome = await node.target.execute(node.invocation(PACK))
        assert isinstance(outcome, Failed)
        assert outcome.permanent
        assert outcome.error.startswith("PLAN_ERROR")
        await node.allow("orders")
        node.server.directory._stations.clear()
        outcome = await node.target.execute(node.invocation(PACK))
        assert isinstance(outcome, Failed)
        assert not outcome.permanent
        assert outcome.error == "NO_WORKER: the station orders has not joined this node"
        foreign = await node.target.execute(node.invocation(PACK, owner="eve"))
        assert isinstance(foreign, Failed)
        assert foreign.permanent


async def test_vote_keeps_the_answers_of_an_attempt_and_calls_only_the_others_again(tmp_path: Path) -> None:
    """「任务参与者与执行结果」: all participants are registered up front, with a result for each; re-push only to those without an answer."""
    async with open_node(tmp_path, worker_wait=0.05) as node:
        spec = '{"station":"board","command":"decide"}'
        asked: list[str] = []
        stations = []
        for voter in ("ann", "bob", "cyd"):
            await node.allow("board", "vote", voter)
            station = node.station("board", voter, file=voter)

            def decide(voter: str = voter) -> str:
                asked.append(voter)
                return f"{voter} agrees"

            station.vote("decide")(decide)
            stations.append(station)
        async with node.running(*stations[:2]):
            first = await node.target.execute(node.invocation(spec))
            assert isinstance(first, Failed)
            assert not first.permanent
            assert "cyd" in first.error
            (record,) = (await node.store.records(BALLOT_KIND)).items
            assert [name for name, _ in ballot_from(record).votes] == ["ann", "bob", "cyd"]
            assert ballot_from(record).missing == ("cyd",)
        async with node.running(*stations[1:]):
            second = await node.target.execute(node.invocation(spec, attempt=2))
        assert isinstance(second, Succeeded)
        assert sorted(asked) == ["ann", "bob", "cyd"]
        votes = json.loads(second.result or "")
        assert votes == {name: {"status": 1, "content": f"{name} agrees"} for name in ("ann", "bob", "cyd")}


async def test_pub_is_ok_at_once_and_reaches_every_worker(tmp_path: Path) -> None:
    """「Pub: 必须完整」: a complete message is delivered to every worker, and is ok at once."""
    async with open_node(tmp_path) as node:
        await node.allow("news", "pub")
        heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        stations = [node.station("news", worker) for worker in ("one", "two")]
        for station in stations:

            async def hear(text: str, worker: str = station.worker) -> None:
                heard.put_nowait((worker, text))

            station.subscribe("evening")(hear)
        async with node.running(*stations):
            spec = '{"station":"news","command":"evening"}'
            outcome = await node.target.execute(node.invocation(spec, payload='{"text":"rain"}'))
            assert isinstance(outcome, Succeeded)
            assert parse_json((outcome.result or "").encode()) == {"sent": 2}
            async with asyncio.timeout(10):
                assert sorted([await heard.get(), await heard.get()]) == [("one", "rain"), ("two", "rain")]


async def test_repeated_attempt_is_answered_from_the_first_execution(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        station = node.station("orders")
        executed: list[int] = []

        @station.api("pack")
        async def pack(context: Context) -> int:
            executed.append(context.plan["attempt"])
            return len(executed)

        async with node.running(station):
            for attempt in (1, 2):
                outcome = await node.target.execute(node.invocation(PACK, attempt=attempt))
                assert outcome == Succeeded("1")
        assert executed == [1]


async def test_calls_wait_for_a_free_slot_and_all_are_executed(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        station = node.station("orders", slots=2)
        live = most = 0

        @station.api("pack")
        async def pack() -> None:
            nonlocal live, most
            live += 1
            most = max(most, live)
            await node.clock.pause(0.005)
            live -= 1

        async with node.running(station):
            specs = [f'{{"station":"orders","command":"pack","title":"{number}"}}' for number in range(8)]
            invocations = [node.invocation(spec) for spec in specs]
            for number, invocation in enumerate(invocations):
                invocation.task = invocation.task._replace(id=f"tsk_{number}")
            outcomes = await asyncio.gather(*map(node.target.execute, invocations))
        assert outcomes == [Succeeded(None)] * 8
        assert most == 2


async def test_removed_key_ends_the_worker(tmp_path: Path) -> None:
    async with open_node(tmp_path, worker_wait=0.05) as node:
        await node.allow("orders")
        station = node.station("orders")
        station.api("pack")(lambda: None)
        async with node.running(station):
            await node.stations.remove(LOCAL, "orders")
            node.server.directory._stations.clear()
            outcome = await node.target.execute(node.invocation(PACK))
            assert isinstance(outcome, Failed)
            assert outcome.permanent
            node.hub.revoke(node.server.directory.is_allowed)
            assert list(node.hub.workers) == []
