"""Sockets of a node for stations: ROUTER for workers and publishers, XPUB for results, ZAP for their keys."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

import zmq
from zmq.utils import z85

from ..clock import Clock
from ..model.accounts.principal import LOCAL_OWNER
from ..model.plans.codes import FrameType
from ..model.stations.presence import presence_record
from ..ports.full_store import FullStore
from ..ports.records import Records
from ..service.plans.results import PlanResult
from .directory import StationDirectory
from .frames import MAX_FRAMES, MAX_MESSAGE_BYTES, Frame, encode_json, encode_message
from .hub import Hub, Publisher, Sent
from .keys import SERVER_KEY_FILE, KeyPair, load_or_make_keys
from .loop_socket import LoopSocket, SendError
from .refusals import refuse
from .results import ResultBroadcaster
from .settings import StationSettings

LOG: Final = logging.getLogger("horae")
_ZAP_ADDRESS: Final = "inproc://zeromq.zap.01"
_ZAP_VERSION: Final = b"1.0"
_SENT: Final = {None: Sent.OK, SendError.GONE: Sent.GONE, SendError.FULL: Sent.FULL}
_QUEUE: Final = 10_000
_BACKLOG: Final = 1_000
_LINGER_MILLISECONDS: Final = 200
_MAX_HANDSHAKES: Final = 1_000
_HANDSHAKE_MILLISECONDS: Final = 10_000
_SUBSCRIBE: Final = 1
_MAX_VALUES: Final = MAX_FRAMES - 4
"""Content frames of a station that fit a result, beside the title, the id, the state and an error."""
_REPORT_SECONDS: Final = 1.0
"""The load of a station is stored at most so often, and only if it has changed."""
_LOAD_SECONDS: Final = 5.0
_RENEW_SECONDS: Final = 30.0
_EXPIRY: Final = timedelta(seconds=90)


class StationServer:
    """`node` names this node in the records of its stations."""

    def __init__(
        self,
        settings: StationSettings,
        clock: Clock,
        records: Records,
        *,
        node: str,
        publisher: Publisher | None = None,
    ) -> None:
        self.settings = settings
        self.directory = StationDirectory(records, clock)
        self.hub = Hub(settings, clock, self.directory, self._send, publisher)
        self.keys: KeyPair | None = None
        self.address = settings.listen
        self.publish_address = settings.publish
        self._records = records
        self._clock = clock
        self._node = node
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._router: LoopSocket | None = None
        self._results: LoopSocket | None = None
        self._results_socket: zmq.Socket[bytes] | None = None
        self._zap: LoopSocket | None = None
        self._owners: dict[str, str] = {}
        """Owners of the keys that ZAP has accepted."""
        self._handshakes: set[asyncio.Task[None]] = set()
        self._reporter: PresenceReporter | None = None
        self.results: ResultBroadcaster | None = None

    def start(self) -> None:
        """Make the keys and bind the sockets; raises a refusal where that is not possible."""
        if self._context is not None:
            return
        if not self.settings.plain:
            if self.settings.directory is None:
                raise refuse("station_directory_missing")
            self.keys = load_or_make_keys(Path(self.settings.directory) / SERVER_KEY_FILE)
        self._context = zmq.Context()
        try:
            self._bind(self._context)
        except BaseException:
            self._close_sockets()
            raise
        self._reporter = PresenceReporter(self.hub, self._records, self._clock, self._node, self.directory)

    def broadcast_results(self, store: FullStore) -> None:
        """Send the results in the event log of this store to subscribers."""
        self.results = ResultBroadcaster(store, self._clock, self.publish_result)

    def publish_result(self, result: PlanResult) -> None:
        """Send a result to the subscribers of its owner: topic, title, id, state, then what the station answered."""
        if self._results is None:
            return
        answer = [Frame(FrameType.CONTENT_JSON, encode_json(each)) for each in result.values[:_MAX_VALUES]]
        if result.error is not None:
            answer.append(Frame(FrameType.CONTENT_TEXT, result.error.encode(errors="replace")))
        title = _cut(result.title)
        frames: list[tuple[FrameType, bytes]] = [
            (FrameType.PUB_TITLE, title),
            (FrameType.SUB_TITLE, f"{result.plan_id:016x}".encode()),
            (FrameType.CONTENT_JSON, encode_json(result.state)),
            *answer,
        ]
        self._results.send([f"{result.owner}/".encode() + title, *encode_message(result.status, frames)])

    async def stop(self) -> None:
        if self._context is None:
            return
        await self.hub.close()
        if self.results is not None:
            await self.results.stop()
        for task in tuple(self._handshakes):
            task.cancel()
        await asyncio.gather(*self._handshakes, return_exceptions=True)
        if self._reporter is not None:
            await self._reporter.stop()
        self._close_sockets()

    def _bind(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        if not self.settings.plain:
            zap = context.socket(zmq.ROUTER)
            zap.bind(_ZAP_ADDRESS)
            self._zap = LoopSocket(zap, self._on_handshake)
        router = self._make_socket(context, zmq.ROUTER, b"stations")
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self.address = _bind(router, self.settings.listen)
        self._router = LoopSocket(router, self._on_message)
        results = self._make_socket(context, zmq.XPUB, b"results")
        results.setsockopt(zmq.XPUB_MANUAL, 1)
        self.publish_address = _bind(results, self.settings.publish)
        self._results_socket = results
        self._results = LoopSocket(results, self._on_subscription)

    def _make_socket(self, context: zmq.Context[zmq.Socket[bytes]], kind: int, domain: bytes) -> zmq.Socket[bytes]:
        socket = context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        socket.setsockopt(zmq.RCVHWM, _QUEUE)
        socket.setsockopt(zmq.BACKLOG, _BACKLOG)
        # Frames that are too long for a message are read, so that they are answered and counted; longer ones end the connection.
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MILLISECONDS)
        socket.setsockopt(zmq.IPV6, 1)
        if self.keys is not None:
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt(zmq.CURVE_SECRETKEY, self.keys.secret.encode())
            socket.setsockopt(zmq.ZAP_DOMAIN, domain)
            socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        return socket

    def _send(self, route: bytes, parts: list[bytes]) -> Sent:
        return Sent.GONE if self._router is None else _SENT[self._router.send([route, *parts])]

    def _on_message(self, parts: list[bytes], user: str | None) -> None:
        if user is None and not self.settings.plain:
            self.hub.refuse_key()
            return
        self.hub.receive(parts[0], None if self.settings.plain else user, parts[1:])

    def _on_subscription(self, parts: list[bytes], user: str | None) -> None:
        """Accept a subscription within the owner of its key only: XPUB in manual mode applies it to this connection."""
        if self._results_socket is None or len(parts) != 1 or not parts[0]:
            return
        topic = parts[0][1:]
        if parts[0][0] != _SUBSCRIBE:
            # The end of a connection arrives in this form, too, and has no user.
            if self.results is not None:
                self.results.unsubscribe(topic)
            with suppress(zmq.ZMQError):
                self._results_socket.setsockopt(zmq.UNSUBSCRIBE, topic)
            return
        owner = LOCAL_OWNER if self.settings.plain else self._owners.get(user or "")
        if owner is None or not topic.startswith(f"{owner}/".encode()):
            self.hub.refuse_topic()
            if self.results is not None:
                self.results.refuse(topic)
            return
        if self.results is not None:
            self.results.subscribe(topic)
        with suppress(zmq.ZMQError):
            self._results_socket.setsockopt(zmq.SUBSCRIBE, topic)

    def _on_handshake(self, parts: list[bytes], _user: str | None) -> None:
        if len(self._handshakes) >= _MAX_HANDSHAKES:
            self._reply(parts, None)
            return
        task = asyncio.ensure_future(self._authenticate(parts))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _authenticate(self, parts: list[bytes]) -> None:
        """Answer a request of ZAP: [route, empty, version, id, domain, address, identity, mechanism, key]."""
        key = z85.encode(parts[8]).decode() if len(parts) == 9 and parts[7] == b"CURVE" else None
        try:
            identity = None if key is None else await self.directory.find(key, None)
        except Exception:
            LOG.exception("the key of a station could not be looked up")
            identity = None
        if identity is None or key is None:
            self.hub.refuse_key()
            self._reply(parts, None)
            return
        self._owners[key] = identity.station.owner
        self._reply(parts, key)

    def _reply(self, parts: list[bytes], key: str | None) -> None:
        if self._zap is None or len(parts) < 4:
            return
        verdict = [b"400", b"unknown key", b"", b""] if key is None else [b"200", b"OK", key.encode(), b""]
        self._zap.send([parts[0], b"", _ZAP_VERSION, parts[3], *verdict])

    def _close_sockets(self) -> None:
        for socket in (self._router, self._results, self._zap):
            if socket is not None:
                socket.close(_LINGER_MILLISECONDS if socket is self._router else 0)
        self._router = self._results = self._zap = self._results_socket = None
        if self._context is not None:
            self._context.term()
            self._context = None


class PresenceReporter:
    """Stores which workers have joined: soon after a change of the workers, less often after a change of the load, and expires."""

    def __init__(self, hub: Hub, records: Records, clock: Clock, node: str, directory: StationDirectory) -> None:
        self._hub = hub
        self._records = records
        self._clock = clock
        self._node = node
        self._directory = directory
        self._changed: set[tuple[str, str]] = set()
        self._written: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = {}
        self._task: asyncio.Task[None] | None = None
        hub.on_change = self._note

    def _note(self, owner: str, station: str) -> None:
        self._changed.add((owner, station))
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        """Runs while a worker has joined; a failing store is tried again, since presence is for people alone."""
        while True:
            await self._clock.pause(_REPORT_SECONDS)
            try:
                await self._directory.review(self._hub)
                await self._write_due()
            except Exception as error:  # noqa: BLE001 - any error of a store
                LOG.warning("who has joined as a station could not be stored: %s", error)
            if not self._changed and not any(True for _ in self._hub.workers):
                return

    async def _write_due(self) -> None:
        now = self._clock.steady()
        joined = {(each.station.owner, each.station.name) for each in self._hub.workers}
        for each in joined | self._changed:
            presence = self._hub.presence(*each, self._node)
            names = tuple(worker.name for worker in presence.workers)
            at, known = self._written.get(each, (-_RENEW_SECONDS, ("",)))
            wait = 0.0 if names != known else _LOAD_SECONDS if each in self._changed else _RENEW_SECONDS
            if now - at >= wait:
                self._changed.discard(each)
                self._written[each] = now, names
                await self._write(each)

    async def _write(self, each: tuple[str, str]) -> None:
        presence = self._hub.presence(*each, self._node)
        record = presence_record(presence, self._clock.now() + _EXPIRY)
        stored = await self._records.get_record(record.kind, record.key)
        await self._records.put_record(record, replacing=None if stored is None else stored.version)

    async def stop(self) -> None:
        """Remove the record of the joined workers: none is joined here any more."""
        task, self._task = self._task, None
        self._hub.on_change = lambda _owner, _station: None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for each in self._written:
            record = presence_record(self._hub.presence(*each, self._node), self._clock.now())
            with suppress(Exception):
                stored = await self._records.get_record(record.kind, record.key)
                if stored is not None:
                    await self._records.drop_record(stored.kind, stored.key, stored.version)


def _bind(socket: zmq.Socket[bytes], address: str) -> str:
    """Bind, and return the address with the port that was found for `*`."""
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        socket.close(0)
        raise refuse("station_address_in_use", value=address, problem=str(error)) from error
    bound = socket.getsockopt(zmq.LAST_ENDPOINT)
    return bound.rstrip(b"\0").decode() if isinstance(bound, bytes) else address


def _cut(title: str) -> bytes:
    """Return the title as it fits a frame, without half a character."""
    return title.encode(errors="replace")[:500].decode(errors="ignore").encode()
