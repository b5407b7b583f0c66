"""Attacks on the socket: wrong keys, replayed and forged answers, malformed frames, double votes; refused, counted, not stored."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import zmq

from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.plans.codes import CommandByte, FrameType, Status
from horae.model.reason import Reason
from horae.model.stations.ballot import BALLOT_KIND, ballot_from
from horae.model.stations.station import Cause
from horae.runtime.observability import make_observer
from horae.service.plans.results import PlanResult
from horae.stations.frames import Malformed, Message, decode_message, encode_json, encode_message
from horae.stations.hub import Sent
from horae.stations.keys import KeyPair, make_key_pair
from horae.stations.link import ServerAddress, connect_socket
from horae.stations.loop_socket import LoopSocket

from ..sizes import sized
from .setup import PATIENCE, StationNode, open_node

PACK = '{"station":"orders","command":"pack"}'
Frames = list[tuple[FrameType, bytes]]


class RawWorker:
    """A client that sends whatever a test wants."""

    def __init__(self, node: StationNode, keys: KeyPair) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        server = ServerAddress(node.server.address, node.key)
        socket = connect_socket(self._context, zmq.DEALER, server, keys)
        self.received: asyncio.Queue[Message] = asyncio.Queue()
        self._socket = LoopSocket(socket, self._on_message)

    def _on_message(self, parts: list[bytes], _user: str | None) -> None:
        message = decode_message(parts)
        assert not isinstance(message, Malformed)
        if message.code != CommandByte.PING:
            self.received.put_nowait(message)

    def send(self, code: int, frames: Frames | None = None) -> None:
        self.send_parts(encode_message(code, frames or []))

    def send_parts(self, parts: list[bytes]) -> None:
        assert self._socket.send(parts) is None

    async def next(self) -> Message:
        async with asyncio.timeout(PATIENCE):
            return await self.received.get()

    async def join(self, station: str, worker: str, **context: Any) -> None:
        about = encode_json({"slots": 8, **context})
        self.send(
            CommandByte.HEART_JOIN,
            [
                (FrameType.STATION_ID, station.encode()),
                (FrameType.LOCAL_ID, worker.encode()),
                (FrameType.CONTEXT, about),
            ],
        )
        assert (await self.next()).code == Status.WELCOME
        self.send(CommandByte.HEART_READY)
        assert (await self.next()).code == Status.OK

    async def refusal(self) -> tuple[int, str]:
        message = await self.next()
        return message.code, message.text(FrameType.CONTENT_TEXT) or ""

    def close(self) -> None:
        self._socket.close()
        self._context.term()


def answer_to(call: Message, **changes: bytes) -> Frames:
    frames = {
        "REQUESTER": call.first(FrameType.REQUESTER) or b"",
        "CALL_ID": call.first(FrameType.CALL_ID) or b"",
        "CONTENT_JSON": b'"done"',
        "GLOBAL_ID": call.first(FrameType.GLOBAL_ID) or b"",
        **changes,
    }
    return [(FrameType[name], data) for name, data in frames.items()]


def start(node: StationNode, spec: str = PACK, **options: Any) -> asyncio.Task[Outcome]:
    return asyncio.create_task(node.target.execute(node.invocation(spec, **options)))


async def test_wrong_key_is_refused_counted_and_stores_nothing(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        stranger = RawWorker(node, make_key_pair())
        stranger.send(CommandByte.HEART_JOIN, [(FrameType.STATION_ID, b"orders"), (FrameType.LOCAL_ID, b"eve")])
        await node.until(lambda: node.hub.refused[Cause.WRONG_KEY] >= 1)
        assert stranger.received.empty()
        assert list(node.hub.workers) == []
        assert (await node.store.records("station.presence")).items == ()
        stranger.close()


async def test_refusals_are_counted_as_a_metric(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        observer = make_observer("engine", node.clock)
        observer.target(node.target)
        await node.allow("orders")
        raw = RawWorker(node, node.keys("orders"))
        raw.send(CommandByte.RESTART)
        assert (await raw.refusal())[0] == Status.NOT_SUPPORTED
        text = observer.render_process()
        assert re.search(r'^horae_station_refusals_total\{cause="bad_request".*\} 1', text, re.MULTILINE)
        assert re.search(r'^horae_station_refusals_total\{cause="wrong_key".*\} 0', text, re.MULTILINE)
        raw.close()


async def test_key_joins_under_its_own_station_and_worker_only(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        await node.allow("board", "vote", "ann")
        await node.allow("press", "publisher")
        cases = [("orders", "board", "one", Status.DENIED), ("ann", "board", "bob", Status.ARGUMENT_INVALID)]
        cases += [("press", "press", "one", Status.ARGUMENT_INVALID), ("orders", "orders", "", Status.ARGUMENT_INVALID)]
        for file, station, worker, status in cases:
            raw = RawWorker(node, node.keys(file))
            raw.send(
                CommandByte.HEART_JOIN,
                [(FrameType.STATION_ID, station.encode()), (FrameType.LOCAL_ID, worker.encode())],
            )
            assert (await raw.refusal())[0] == status
            raw.close()
        assert node.hub.refused == {Cause.NOT_ALLOWED: 1, Cause.BAD_JOIN: 3}
        assert list(node.hub.workers) == []


async def test_forged_replayed_and_foreign_answers_are_refused(tmp_path: Path) -> None:
    """An answer for another plan, another worker's call, an invented call, and one that was answered already."""
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        honest, thief = RawWorker(node, node.keys("orders")), RawWorker(node, node.keys("orders"))
        await honest.join("orders", "honest")
        run = start(node)
        call = await honest.next()
        await thief.join("orders", "thief", apis=["other"])
        thief.send(Status.OK, answer_to(call))
        assert await thief.refusal() == (Status.DENIED, Cause.FOREIGN_CALL)
        honest.send(Status.OK, answer_to(call, REQUESTER=b"*:00000000000000ff"))
        assert await honest.refusal() == (Status.DENIED, Cause.FORGED_CALLER)
        honest.send(Status.OK, answer_to(call, CALL_ID=b"made up"))
        assert await honest.refusal() == (Status.DENIED, Cause.UNKNOWN_CALL)
        assert not run.done()
        honest.send(Status.RUNNING, answer_to(call))
        honest.send(Status.OK, answer_to(call))
        assert await run == Succeeded('"done"')
        honest.send(Status.OK, answer_to(call, CONTENT_JSON=b'"again"'))
        assert await honest.refusal() == (Status.DENIED, Cause.ENDED_CALL)
        honest.send(CommandByte.HEART_LEFT)
        assert (await honest.next()).code == Status.BYE
        honest.send(Status.OK, answer_to(call))
        assert (await honest.refusal())[0] == Status.NOT_FOUND
        causes = (Cause.FOREIGN_CALL, Cause.FORGED_CALLER, Cause.UNKNOWN_CALL, Cause.ENDED_CALL, Cause.NOT_JOINED)
        assert node.hub.refused == dict.fromkeys(causes, 1)
        honest.close()
        thief.close()


async def test_frames_captured_from_another_connection_and_sent_again_have_no_effect(tmp_path: Path) -> None:
    """The very bytes of a worker's join, confirmation and result, from a connection with another key, before and after."""
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        await node.allow("others")
        honest, thief = RawWorker(node, node.keys("orders")), RawWorker(node, node.keys("others"))
        await honest.join("orders", "honest")
        run = start(node)
        call = await honest.next()
        captured = [encode_message(code, answer_to(call)) for code in (Status.RUNNING, Status.OK)]
        join = [(FrameType.STATION_ID, b"orders"), (FrameType.LOCAL_ID, b"honest")]
        for parts in (encode_message(CommandByte.HEART_JOIN, join), *captured):
            thief.send_parts(parts)
        assert [(await thief.refusal())[0] for _ in range(3)].count(Status.DENIED) == 1
        assert not run.done()
        for parts in captured:
            honest.send_parts(parts)
        assert await run == Succeeded('"done"')
        for parts in captured:
            thief.send_parts(parts)
            assert (await thief.refusal())[0] == Status.NOT_FOUND
        assert node.hub.refused == {Cause.NOT_ALLOWED: 1, Cause.NOT_JOINED: 4}
        assert [each.name for each in node.hub.workers] == ["honest"]
        honest.close()
        thief.close()


async def test_worker_that_does_not_read_its_calls_is_a_send_error(tmp_path: Path) -> None:
    """「发送失败 : 设置计划状态为ZERO_STATUS_SEND_ERROR_ID」; nothing was sent, so also `at_most_once` may repeat it."""
    async with open_node(tmp_path, liveness=600.0, heartbeat=60.0) as node:
        await node.allow("orders")
        worker = RawWorker(node, node.keys("orders"))
        await worker.join("orders", "one")
        send = node.hub._send
        node.hub._send = lambda route, parts: Sent.FULL if parts[0][1] == CommandByte.PROXY else send(route, parts)
        outcome = await start(node)
        assert outcome == Failed("SEND_ERROR: one does not read its calls", reason=Reason.NOT_CALLED)
        node.hub._send = send
        run = start(node)
        worker.send(Status.OK, answer_to(await worker.next()))
        assert await run == Succeeded('"done"')
        worker.close()


async def test_answer_of_an_earlier_attempt_does_not_end_the_next_one(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        worker = RawWorker(node, node.keys("orders"))
        await worker.join("orders", "one")
        first = start(node)
        call = await worker.next()
        first.cancel()
        assert (await worker.next()).code == CommandByte.CLOSE_REQUEST
        second = start(node, attempt=2)
        again = await worker.next()
        worker.send(Status.OK, answer_to(call, CONTENT_JSON=b'"stale"'))
        assert await worker.refusal() == (Status.DENIED, Cause.ENDED_CALL)
        worker.send(Status.OK, answer_to(again))
        assert await second == Succeeded('"done"')
        worker.close()


async def test_voter_who_votes_twice_is_refused(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        for voter in ("ann", "bob"):
            await node.allow("board", "vote", voter)
        ann, bob = RawWorker(node, node.keys("ann")), RawWorker(node, node.keys("bob"))
        await ann.join("board", "ann")
        await bob.join("board", "bob")
        run = start(node, '{"station":"board","command":"decide"}')
        call = await ann.next()
        ann.send(Status.OK, answer_to(call, CONTENT_JSON=b'"yes"'))
        ann.send(Status.OK, answer_to(call, CONTENT_JSON=b'"no"'))
        assert (await ann.refusal())[0] == Status.DENIED
        bobs = await bob.next()
        ann.send(Status.OK, answer_to(bobs, CONTENT_JSON=b'"no"'))
        assert await ann.refusal() == (Status.DENIED, Cause.FOREIGN_CALL)
        bob.send(Status.OK, answer_to(bobs, CONTENT_JSON=b'"yes"'))
        assert isinstance(await run, Succeeded)
        (record,) = (await node.store.records(BALLOT_KIND)).items
        assert [vote.content for _, vote in ballot_from(record).votes if vote is not None] == ["yes", "yes"]
        assert node.hub.refused[Cause.FOREIGN_CALL] == 1
        assert node.hub.refused[Cause.SECOND_VOTE] == 1
        ann.close()
        bob.close()


async def test_malformed_and_unknown_messages_are_answered_and_have_no_effect(tmp_path: Path) -> None:
    """Fuzz over the real socket; the worker beside it goes on, and the sender stays connected."""
    async with open_node(tmp_path, liveness=60.0) as node:
        await node.allow("orders")
        attacker, worker = RawWorker(node, node.keys("orders")), RawWorker(node, node.keys("orders"))
        await worker.join("orders", "one")
        source = random.Random(5)
        for _ in range(sized(300, soak=100_000)):
            parts = [source.randbytes(source.randint(0, 6)) for _ in range(source.randint(1, 5))]
            if isinstance(decode_message(parts), Malformed):
                attacker.send_parts(parts)
                assert (await attacker.next()).code == Status.FRAME_INVALID
        attacker.send(CommandByte.RESTART)
        assert (await attacker.refusal())[0] == Status.NOT_SUPPORTED
        attacker.send(CommandByte.PLAN, [(FrameType.REQUEST_ID, b"r")])
        assert (await attacker.refusal())[0] == Status.NOT_SUPPORTED
        assert [each.name for each in node.hub.workers] == ["one"]
        run = start(node)
        worker.send(Status.OK, answer_to(await worker.next()))
        assert await run == Succeeded('"done"')
        assert node.hub.refused[Cause.MALFORMED] > 200
        attacker.close()
        worker.close()


async def test_oversized_frame_ends_the_connection_only(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        attacker, worker = RawWorker(node, node.keys("orders")), RawWorker(node, node.keys("orders"))
        await worker.join("orders", "one")
        await attacker.join("orders", "two", apis=["other"])
        attacker.send_parts([bytes([1, 1, FrameType.CONTENT_BINARY]), b"x" * 2_000_000])
        await node.until(lambda: [each.name for each in node.hub.workers] == ["one"])
        run = start(node)
        worker.send(Status.OK, answer_to(await worker.next()))
        assert await run == Succeeded('"done"')
        attacker.close()
        worker.close()


async def test_call_without_confirmation_and_silent_worker_fail_and_are_retried(tmp_path: Path) -> None:
    """接收超时 : 设置计划状态为ZERO_STATUS_RECV_ERROR_ID. 待下次循环继续执行."""
    async with open_node(tmp_path, answer_timeout=0.1, heartbeat=0.1, liveness=0.6) as node:
        await node.allow("orders")
        worker = RawWorker(node, node.keys("orders"))
        await worker.join("orders", "one")
        outcome = await start(node)
        assert isinstance(outcome, Failed)
        assert outcome.error.startswith("RECEIVE_ERROR")
        assert not outcome.permanent
        run = start(node)
        await worker.next()
        call = await worker.next()
        if call.code == CommandByte.PROXY:
            worker.send(Status.RUNNING, answer_to(call))
        outcome = await run
        assert isinstance(outcome, Failed)
        assert outcome.error.startswith(("NET_ERROR", "RECEIVE_ERROR"))
        worker.close()


async def test_subscription_to_results_of_another_owner_gets_nothing(tmp_path: Path) -> None:
    async with open_node(tmp_path) as node:
        await node.allow("orders")
        await node.allow("spies", owner="eve", file="eve")
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        server = ServerAddress(node.server.publish_address, node.key)
        socket = connect_socket(context, zmq.SUB, server, node.keys("eve"))
        heard: list[list[bytes]] = []
        reader = LoopSocket(socket, lambda parts, _user: heard.append(parts))
        for topic in (b"local/", b"", b"eve/"):
            socket.setsockopt(zmq.SUBSCRIBE, topic)
        await node.until(lambda: node.hub.refused[Cause.FOREIGN_TOPIC] == 2)
        node.server.publish_result(PlanResult("local", "secret", 1, Status.OK, {}, (), None))
        while not heard:
            node.server.publish_result(PlanResult("eve", "own", 1, Status.OK, {}, (), None))
            await node.clock.pause(0.01)
        assert {parts[0] for parts in heard} == {b"eve/own"}
        reader.close()
        context.term()
