"""Hub of a node: workers of stations that have joined, their calls and answers; messages in, messages out, no sockets."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from os import urandom
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..model.plans.codes import STATUS_TEXTS, CommandByte, FrameType, Status
from ..model.stations.presence import StationPresence, WorkerPresence
from ..model.stations.station import Cause, Station, StationKind, is_station_name
from .calls import Answer, Call, CallRequest
from .frames import Malformed, Message, decode_message, encode_json, encode_message, status_name
from .settings import StationSettings

LOG: Final = logging.getLogger("horae")
MAX_SLOTS: Final = 1_000
MAX_WORKERS: Final = 10_000
MAX_APIS: Final = 200
_MAX_REQUESTS: Final = 1_000
"""Requests of all connections that are in progress at once."""
_MAX_ENDED: Final = 10_000
_REPORT_SECONDS: Final = 60.0
_NO_FRAMES: Final = (CommandByte.HEART_READY, CommandByte.HEART_PITPAT, CommandByte.HEART_LEFT)


class Sent(Enum):
    OK = "ok"
    GONE = "gone"
    FULL = "full"


class Identity(NamedTuple):
    """A station as the directory knows it, and the worker name that its key is bound to."""

    station: Station
    worker: str | None = None


class Directory(Protocol):
    """Stations that may join."""

    async def find(self, key: str | None, name: str | None) -> Identity | None:
        """Return the station of a key; without keys (`plain`), that of a name."""


class Publisher(Protocol):
    """Plans that arrive by the wire."""

    async def handle(self, identity: Identity, message: Message) -> tuple[int, Sequence[tuple[FrameType, bytes]]]:
        """Execute a request of a publisher; return the status and frames of the answer."""


class Worker:
    """One connection of a program that executes calls."""

    __slots__ = (
        "answered", "apis", "calls", "generation", "is_ready", "joined", "key", "last_answer", "last_status", "name",
        "route", "seen", "seen_at", "slots", "station",
    )  # fmt: skip

    def __init__(self, route: bytes, key: str | None, station: Station, name: str, seen: float, now: datetime) -> None:
        self.route = route
        self.key = key
        self.station = station
        self.name = name
        self.slots = 1
        self.apis: frozenset[str] | None = None
        self.generation = 2
        self.is_ready = False
        self.calls: dict[str, Call] = {}
        self.answered = 0
        self.seen = seen
        self.joined = self.seen_at = now
        self.last_status: str | None = None
        self.last_answer: datetime | None = None

    def serves(self, command: str) -> bool:
        return self.is_ready and (self.apis is None or command in self.apis)

    @property
    def free(self) -> int:
        return self.slots - len(self.calls)


class Pool:
    """Workers of one station, and the calls that wait for one of them."""

    __slots__ = ("waiters", "workers")

    def __init__(self) -> None:
        self.workers: dict[str, Worker] = {}
        self.waiters: deque[asyncio.Future[None]] = deque()

    def wake(self, number: int = 1) -> None:
        while number > 0 and self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                number -= 1

    def wake_all(self) -> None:
        self.wake(len(self.waiters))


class Hub:
    """`send` delivers the parts to a connection, without waiting. `receive` gets each message that has arrived."""

    def __init__(
        self,
        settings: StationSettings,
        clock: Clock,
        directory: Directory,
        send: Callable[[bytes, list[bytes]], Sent],
        publisher: Publisher | None = None,
    ) -> None:
        self.settings = settings
        self.refused: Counter[Cause] = Counter()
        self.on_change: Callable[[str, str], None] = lambda _owner, _station: None
        """Called when the workers or the load of a station have changed."""
        self.on_refused: Callable[[Cause], None] = lambda _cause: None
        self._clock = clock
        self._directory = directory
        self._publisher = publisher
        self._send = send
        self._by_route: dict[bytes, Worker] = {}
        self._pools: dict[tuple[str, str], Pool] = {}
        self._calls: dict[str, Call] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()
        """Calls that have ended, with the worker that answered: distinguishes a late answer from an invented one."""
        self._requests: set[asyncio.Task[None]] = set()
        self._ticker: asyncio.Task[None] | None = None
        self._prefix = urandom(6).hex()
        self._number = 0
        self._reported = (-_REPORT_SECONDS, 0)

    # --- calls -------------------------------------------------------------------------------------------------------

    async def call(self, request: CallRequest, on_wait: Callable[[], None]) -> Answer:
        """Give the call to the worker with the most free slots, and wait for its answer."""
        return await self._call(request, on_wait, None)

    async def call_voter(self, request: CallRequest, voter: str, on_wait: Callable[[], None]) -> Answer:
        """Give the call to this voter, and wait for the vote."""
        return await self._call(request, on_wait, voter)

    def broadcast(self, request: CallRequest) -> int:
        """Send the call to every worker of the station that serves it; return how many. No answer is expected."""
        parts, sent = request.encode(self._next_id()), 0
        for worker in tuple(self._pool(request.owner, request.station).workers.values()):
            if worker.serves(request.command) and self._send(worker.route, parts) is Sent.OK:
                sent += 1
        return sent

    async def _call(self, request: CallRequest, on_wait: Callable[[], None], voter: str | None) -> Answer:
        while True:
            worker = await self._find_worker(request, voter)
            if isinstance(worker, Answer):
                return worker
            call = Call(self._next_id(), request, worker, self._clock.steady(), on_wait)
            sent = self._send(worker.route, request.encode(call.id))
            if sent is Sent.GONE:
                self._remove(worker, "its connection is gone")
                continue
            if sent is Sent.FULL:
                return Answer(Status.SEND_ERROR, worker=worker.name, error=f"{worker.name} does not read its calls")
            return await self._wait_for_answer(call)

    async def _wait_for_answer(self, call: Call) -> Answer:
        self._calls[call.id] = call.worker.calls[call.id] = call
        self._start_ticker()
        self._note_change(call.worker)
        try:
            return await call.answer
        except asyncio.CancelledError:
            self._post(call.worker.route, CommandByte.CLOSE_REQUEST, [(FrameType.CALL_ID, call.id.encode())])
            raise
        finally:
            self._calls.pop(call.id, None)
            call.worker.calls.pop(call.id, None)
            self._remember(call)
            self._note_change(call.worker)
            self._pool(call.request.owner, call.request.station).wake()

    async def _find_worker(self, request: CallRequest, voter: str | None) -> Worker | Answer:
        """Return a worker with a free slot. Without any worker the call waits for a short time, else for its turn."""
        pool = self._pool(request.owner, request.station)
        until = self._clock.steady() + self.settings.worker_wait
        while True:
            able = [
                each for each in pool.workers.values() if voter in (None, each.name) and each.serves(request.command)
            ]
            free = [each for each in able if each.free > 0]
            if free:
                return max(free, key=lambda each: each.free)
            rest = until - self._clock.steady()
            if not able and rest <= 0:
                return self._no_worker(request, pool, voter)
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            pool.waiters.append(waiter)
            try:
                async with asyncio.timeout(None if able else rest):
                    await waiter
            except TimeoutError:
                continue
            except asyncio.CancelledError:
                if waiter.done():
                    pool.wake()
                raise
            finally:
                with suppress(ValueError):
                    pool.waiters.remove(waiter)

    def _no_worker(self, request: CallRequest, pool: Pool, voter: str | None) -> Answer:
        ready = [each for each in pool.workers.values() if each.is_ready and voter in (None, each.name)]
        if ready:
            return Answer(Status.NOT_SUPPORTED, error=f"no worker of {request.station} has the API {request.command}")
        who = f"the station {request.station}" if voter is None else f"the voter {voter} of {request.station}"
        return Answer(Status.NO_WORKER, error=f"{who} has not joined this node")

    # --- messages ----------------------------------------------------------------------------------------------------

    def receive(self, route: bytes, key: str | None, parts: Sequence[bytes]) -> None:
        """Handle one message of a connection; `key` is the public key of the connection, None without CURVE."""
        worker = self._by_route.get(route)
        if worker is not None and worker.key != key:
            # The route was reused by another connection: never trust a route alone.
            self._remove(worker, "its connection is gone")
            worker = None
        message = decode_message(parts, first_generation=worker is not None and worker.generation == 1)
        if isinstance(message, Malformed):
            self._refuse(Cause.MALFORMED)
            self._answer(route, Status.FRAME_INVALID, message.flaw.value)
            return
        if worker is not None:
            worker.seen, worker.seen_at = self._clock.steady(), self._clock.now()
        if message.is_answer:
            self._receive_answer(route, worker, message)
        elif message.code == CommandByte.HEART_JOIN:
            self._request(route, self._join(route, key, message))
        elif message.code in _NO_FRAMES:
            self._receive_sign(route, worker, message.code)
        elif message.code == CommandByte.PING:
            self._post(route, Status.OK)
        elif message.code in (CommandByte.PLAN, CommandByte.NONE):
            self._request(route, self._publish(route, key, message))
        elif worker is None or message.code != Status.OK:
            self._refuse(Cause.BAD_REQUEST)
            self._answer(route, Status.NOT_SUPPORTED, "unknown command")

    def _request(self, route: bytes, request: Coroutine[Any, Any, None]) -> None:
        if len(self._requests) >= _MAX_REQUESTS:
            request.close()
            self._refuse(Cause.OVERLOAD)
            self._answer(route, Status.NET_ERROR, "too many requests at once")
            return
        task = asyncio.ensure_future(request)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _join(self, route: bytes, key: str | None, message: Message) -> None:
        name, worker_name = message.text(FrameType.STATION_ID), message.text(FrameType.LOCAL_ID)
        context = message.json(FrameType.CONTEXT) if message.first(FrameType.CONTEXT) is not None else {}
        identity = await self._directory.find(key, name)
        if identity is None or name != identity.station.name:
            self._refuse(Cause.NOT_ALLOWED)
            self._answer(route, Status.DENIED, "this key may not join under this name")
            return
        wrong = _check_join(worker_name, context) or _check_identity(identity, worker_name)
        if wrong is not None or worker_name is None:
            self._refuse(Cause.BAD_JOIN)
            self._answer(route, Status.ARGUMENT_INVALID, wrong or "")
            return
        if len(self._by_route) >= MAX_WORKERS and route not in self._by_route:
            self._refuse(Cause.OVERLOAD)
            self._answer(route, Status.DENIED, "too many workers have joined this node")
            return
        self._add(route, key, identity.station, worker_name, context)
        about = {"heartbeat": self.settings.heartbeat, "liveness": self.settings.liveness}
        self._post(route, Status.WELCOME, [(FrameType.CONTEXT, encode_json(about))])

    def _add(self, route: bytes, key: str | None, station: Station, name: str, context: dict[str, Any]) -> None:
        pool = self._pool(station.owner, station.name)
        for old in (self._by_route.get(route), pool.workers.get(name)):
            if old is not None and old.route in self._by_route:
                self._remove(old, "the worker joined again")
        worker = Worker(route, key, station, name, self._clock.steady(), self._clock.now())
        worker.slots = context.get("slots", 1)
        worker.apis = None if context.get("apis") is None else frozenset(context["apis"])
        worker.generation = context.get("generation", 2)
        self._by_route[route] = pool.workers[name] = worker
        self._start_ticker()
        self._note_change(worker)
        LOG.info("worker %s of the station %s/%s has joined", name, station.owner, station.name)

    def _receive_sign(self, route: bytes, worker: Worker | None, code: int) -> None:
        if worker is None:
            self._refuse(Cause.NOT_JOINED)
            self._answer(route, Status.NOT_FOUND, "join first")
            return
        if code == CommandByte.HEART_LEFT:
            worker.is_ready = False
            self._post(route, Status.BYE)
            if not worker.calls:
                self._remove(worker, "it has left")
        else:
            if code == CommandByte.HEART_READY:
                worker.is_ready = True
                self._pool_of(worker).wake_all()
            self._post(route, Status.OK)
        self._note_change(worker)

    def _receive_answer(self, route: bytes, worker: Worker | None, message: Message) -> None:
        call_id = message.text(FrameType.CALL_ID) or ""
        cause = self._check_answer(worker, message, call_id)
        if cause is not None or worker is None:
            self._refuse(cause or Cause.NOT_JOINED)
            status = Status.NOT_FOUND if worker is None else Status.DENIED
            frames = [(FrameType.CALL_ID, call_id.encode())]
            self._answer(route, status, str(cause or Cause.NOT_JOINED), frames)
            return
        call = self._calls[call_id]
        if message.code == Status.RUNNING:
            call.is_running = True
        elif message.code in (Status.WAIT, CommandByte.WAITING):
            call.is_running = True
            call.on_wait()
        else:
            worker.answered += 1
            worker.last_status, worker.last_answer = status_name(message.code), self._clock.now()
            call.end(Answer(message.code, message.contents, worker.name))
            if not worker.is_ready and len(worker.calls) <= 1:
                self._remove(worker, "it has left")

    def _check_answer(self, worker: Worker | None, message: Message, call_id: str) -> Cause | None:
        """Return why an answer does not count: only the worker that has the call answers it, once, for its caller."""
        if worker is None:
            return Cause.NOT_JOINED
        call = self._calls.get(call_id)
        if call is None or call.answer.done():
            ended_by = self._ended.get(call_id) if call is None else call.worker.name
            if ended_by is None:
                return Cause.UNKNOWN_CALL
            is_vote = worker.station.kind is StationKind.VOTE and ended_by == worker.name
            return Cause.SECOND_VOTE if is_vote else Cause.ENDED_CALL
        if call.worker is not worker:
            return Cause.FOREIGN_CALL
        if message.text(FrameType.REQUESTER) != call.request.caller:
            return Cause.FORGED_CALLER
        return None

    async def _publish(self, route: bytes, key: str | None, message: Message) -> None:
        request = [(frame.type, frame.data) for frame in message.frames if frame.type is FrameType.REQUEST_ID]
        identity = await self._directory.find(key, message.text(FrameType.STATION_ID))
        if self._publisher is None:
            self._answer(route, Status.NOT_SUPPORTED, "this node accepts no plans", request)
        elif identity is None or (key is not None and identity.station.kind is not StationKind.PUBLISHER):
            self._refuse(Cause.NOT_ALLOWED)
            self._answer(route, Status.DENIED, "this key may not publish plans", request)
        else:
            try:
                status, frames = await self._publisher.handle(identity, message)
                self._post(route, status, [*request, *frames])
            except Exception:
                LOG.exception("a request of a publisher failed")
                self._answer(route, Status.NET_ERROR, "the node could not execute the request", request)

    # --- liveness ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Remove workers that are silent or gone, and end calls that no worker has confirmed."""
        now = self._clock.steady()
        for worker in tuple(self._by_route.values()):
            if now - worker.seen > self.settings.liveness:
                self._remove(worker, f"it was silent for {self.settings.liveness:g} s")
            elif self._send(worker.route, _PING) is Sent.GONE:
                self._remove(worker, "its connection is gone")
        for call in tuple(self._calls.values()):
            if not call.is_running and now - call.sent > self.settings.answer_timeout:
                text = f"{call.worker.name} did not confirm the call within {self.settings.answer_timeout:g} s"
                call.end(Answer(Status.RECEIVE_ERROR, worker=call.worker.name, error=text, may_have_run=True))
        self._report_refusals(now)

    def revoke(self, is_allowed: Callable[[Worker], bool]) -> None:
        """Remove workers whose key is no longer allowed; their calls fail."""
        for worker in tuple(self._by_route.values()):
            if not is_allowed(worker):
                self._refuse(Cause.NOT_ALLOWED)
                self._answer(worker.route, Status.DENIED, "this key is no longer allowed")
                self._remove(worker, "its key is no longer allowed")

    @property
    def workers(self) -> Iterable[Worker]:
        return tuple(self._by_route.values())

    def presence(self, owner: str, station: str, node: str) -> StationPresence:
        pool = self._pool(owner, station)
        workers = tuple(
            WorkerPresence(
                each.name,
                each.slots,
                len(each.calls),
                each.answered,
                each.joined,
                each.seen_at,
                each.last_status,
                each.last_answer,
            )
            for each in sorted(pool.workers.values(), key=lambda each: each.name)
        )
        return StationPresence(owner, station, node, workers, len(pool.waiters), self._clock.now())

    async def close(self) -> None:
        """Tell all workers that the node leaves, and end what is in progress."""
        for worker in tuple(self._by_route.values()):
            self._post(worker.route, Status.BYE)
            self._remove(worker, "the node stops")
        tasks = [*self._requests, *([] if self._ticker is None else [self._ticker])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def refuse_key(self) -> None:
        """Count a connection whose key no station has."""
        self._refuse(Cause.WRONG_KEY)
        self._start_ticker()

    def refuse_topic(self) -> None:
        self._refuse(Cause.FOREIGN_TOPIC)

    def _start_ticker(self) -> None:
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.ensure_future(self._tick())

    async def _tick(self) -> None:
        """Check once a heartbeat while there are workers or calls; without them nothing runs."""
        while self._by_route or self._calls:
            await self._clock.pause(min(1.0, self.settings.heartbeat))
            self.check()

    def _remove(self, worker: Worker, why: str) -> None:
        self._by_route.pop(worker.route, None)
        pool = self._pool_of(worker)
        if pool.workers.get(worker.name) is worker:
            del pool.workers[worker.name]
        worker.is_ready = False
        for call in tuple(worker.calls.values()):
            error = f"the worker {worker.name} was lost: {why}"
            call.end(Answer(Status.NET_ERROR, worker=worker.name, error=error, may_have_run=True))
        # Waiters look again: this may have been the last worker.
        pool.wake_all()
        self._note_change(worker)
        LOG.info("worker %s of the station %s/%s: %s", worker.name, worker.station.owner, worker.station.name, why)

    def _remember(self, call: Call) -> None:
        self._ended[call.id] = call.worker.name
        if len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)

    def _refuse(self, cause: Cause) -> None:
        self.refused[cause] += 1
        self.on_refused(cause)

    def _report_refusals(self, now: float) -> None:
        """Log refusals at most once a minute, however many there are."""
        at, number = self._reported
        total = self.refused.total()
        if total > number and now - at >= _REPORT_SECONDS:
            self._reported = now, total
            LOG.warning("messages of stations were refused: %s", {str(key): n for key, n in self.refused.items()})

    def _next_id(self) -> str:
        self._number += 1
        return f"{self._prefix}{self._number:012x}"

    def _pool(self, owner: str, station: str) -> Pool:
        return self._pools.setdefault((owner, station), Pool())

    def _pool_of(self, worker: Worker) -> Pool:
        return self._pool(worker.station.owner, worker.station.name)

    def _note_change(self, worker: Worker) -> None:
        self.on_change(worker.station.owner, worker.station.name)

    def _post(self, route: bytes, code: int, frames: Sequence[tuple[FrameType, bytes]] = ()) -> None:
        self._send(route, encode_message(code, frames))

    def _answer(self, route: bytes, status: Status, text: str, frames: Sequence[tuple[FrameType, bytes]] = ()) -> None:
        """Refuse a message. The answer has the text of the status and a reason."""
        word = STATUS_TEXTS.get(status, "")
        self._post(
            route,
            status,
            [*frames, (FrameType.STATUS, str(word).encode()), (FrameType.CONTENT_TEXT, text.encode())],
        )


_PING: Final = encode_message(CommandByte.PING)


def _check_join(name: str | None, context: Any) -> str | None:
    if not is_station_name(name):
        return "the worker has no name"
    if not isinstance(context, dict):
        return "the context is no JSON object"
    slots, apis, generation = context.get("slots", 1), context.get("apis"), context.get("generation", 2)
    if type(slots) is not int or not 1 <= slots <= MAX_SLOTS:
        return f"slots is no number between 1 and {MAX_SLOTS}"
    if apis is not None and not _is_list_of_names(apis):
        return f"apis is no list of at most {MAX_APIS} names"
    if generation not in (1, 2):
        return "generation is neither 1 nor 2"
    return None


def _is_list_of_names(apis: Any) -> bool:
    return isinstance(apis, list) and len(apis) <= MAX_APIS and all(isinstance(each, str) for each in apis)


def _check_identity(identity: Identity, worker: str | None) -> str | None:
    if identity.station.kind is StationKind.PUBLISHER:
        return "a publisher executes no calls"
    if identity.worker not in (None, worker):
        return f"this key belongs to the worker {identity.worker}"
    return None
