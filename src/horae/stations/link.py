"""Connection of a station to one node: joins, sends heartbeats, and connects again when the node is silent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import zmq

from ..clock import Clock
from ..model.plans.codes import CommandByte, FrameType, Status
from .frames import Malformed, Message, decode_message, encode_json, encode_message
from .keys import KeyPair
from .loop_socket import LoopSocket

LOG: Final = logging.getLogger("horae.stations")
_SILENCE_SECONDS: Final = 6.0
_BEAT_SECONDS: Final = 1.0
_DENIED_SECONDS: Final = 5.0
_RECONNECT_MILLISECONDS: Final = 100
_MAX_RECONNECT_MILLISECONDS: Final = 1_000
_LINGER_MILLISECONDS: Final = 500


class ServerAddress(NamedTuple):
    """Address of a node, and its public key; None without CURVE."""

    address: str
    key: str | None = None


def parse_address(text: str, key: str | None = None) -> ServerAddress:
    """Read `tcp://host:port`, or with the key of the node `tcp://host:port#KEY`."""
    address, mark, own_key = text.strip().partition("#")
    return ServerAddress(address, own_key if mark else key)


def connect_socket(
    context: zmq.Context[zmq.Socket[bytes]],
    kind: int,
    server: ServerAddress,
    keys: KeyPair | None,
    *,
    is_queued: bool = True,
) -> zmq.Socket[bytes]:
    """Connect; with `is_queued` messages wait for the connection, else a send without one fails."""
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IPV6, 1)
    socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MILLISECONDS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, _MAX_RECONNECT_MILLISECONDS)
    socket.setsockopt(zmq.IMMEDIATE, 0 if is_queued else 1)
    if server.key is not None and keys is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, server.key.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret.encode())
    socket.connect(server.address)
    return socket


class Introduction(NamedTuple):
    """What a worker says of itself when it joins."""

    station: str
    worker: str
    context: dict[str, Any]

    def encode(self) -> list[bytes]:
        return encode_message(
            CommandByte.HEART_JOIN,
            [
                (FrameType.STATION_ID, self.station.encode()),
                (FrameType.LOCAL_ID, self.worker.encode()),
                (FrameType.CONTEXT, encode_json(self.context)),
            ],
        )


class Link:
    """`on_call` gets the calls of the node, `on_close` the id of a call that is no longer wanted; None: all of this node."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        server: ServerAddress,
        keys: KeyPair | None,
        introduction: Introduction,
        clock: Clock,
    ) -> None:
        self.server = server
        self.on_call: Callable[[Link, Message], None] = lambda _link, _message: None
        self.on_close: Callable[[Link, str | None], None] = lambda _link, _call: None
        self.joined = asyncio.Event()
        self._context = context
        self._keys = keys
        self._introduction = introduction
        self._clock = clock
        self._socket: LoopSocket | None = None
        self._heard = 0.0
        self._retry_at = 0.0
        self._beat = _BEAT_SECONDS
        self._silence = _SILENCE_SECONDS
        self._is_leaving = False

    async def run(self) -> None:
        """Keep the connection alive until this is cancelled."""
        try:
            while True:
                now = self._clock.steady()
                if self._socket is None or now - self._heard > self._silence:
                    self._connect(now)
                if self.joined.is_set():
                    self.send(encode_message(CommandByte.HEART_PITPAT))
                elif now >= self._retry_at:
                    self._join()
                await self._clock.pause(self._beat if self.joined.is_set() else min(self._beat, 0.2))
        finally:
            self.close()

    def leave(self) -> None:
        """Ask for no more calls; those that were received are still answered."""
        self._is_leaving = True
        if self.joined.is_set():
            self.send(encode_message(CommandByte.HEART_LEFT))

    def send(self, parts: Sequence[bytes]) -> bool:
        return self._socket is not None and self._socket.send(parts) is None

    def close(self) -> None:
        self.joined.clear()
        if self._socket is not None:
            self._socket.close(_LINGER_MILLISECONDS)
            self._socket = None

    def _lose(self) -> None:
        """The node does not know this worker any more, and waits for none of its answers."""
        self.joined.clear()
        if not self._is_leaving:
            self.on_close(self, None)

    def _connect(self, now: float) -> None:
        self._lose()
        self.close()
        self._heard = now
        # After a reconnect the worker joins again first: nothing of an earlier connection is sent.
        socket = connect_socket(self._context, zmq.DEALER, self.server, self._keys, is_queued=False)
        self._socket = LoopSocket(socket, self._on_message)

    def _join(self) -> None:
        if not self._is_leaving:
            self.send(self._introduction.encode())

    def _on_message(self, parts: list[bytes], _user: str | None) -> None:
        message = decode_message(parts)
        if isinstance(message, Malformed):
            LOG.warning("the node %s sent a message that cannot be read: %s", self.server.address, message)
            return
        self._heard = self._clock.steady()
        if message.code == CommandByte.PROXY and message.is_answer:
            self.on_call(self, message)
        elif message.code == Status.WELCOME:
            self._on_welcome(message)
        elif message.code == CommandByte.CLOSE_REQUEST:
            self.on_close(self, message.text(FrameType.CALL_ID) or "")
        elif message.code == Status.BYE:
            self._lose()
        elif message.code == Status.NOT_FOUND:
            self._lose()
            self._join()
        elif message.code in (Status.DENIED, Status.ARGUMENT_INVALID):
            self._on_refusal(message)

    def _on_welcome(self, message: Message) -> None:
        context = message.json(FrameType.CONTEXT)
        if isinstance(context, dict):
            self._beat = float(context.get("heartbeat", _BEAT_SECONDS))
            self._silence = float(context.get("liveness", _SILENCE_SECONDS))
        if not self._is_leaving:
            self.joined.set()
            self.send(encode_message(CommandByte.HEART_READY))

    def _on_refusal(self, message: Message) -> None:
        """Report a refused join, and a refused answer: the node does not want the result of that call any more."""
        text = message.text(FrameType.CONTENT_TEXT) or ""
        if message.first(FrameType.CALL_ID) is not None:
            LOG.warning("the node %s refused an answer: %s", self.server.address, text)
            return
        LOG.error("the node %s refused to let %s join: %s", self.server.address, self._introduction.station, text)
        self.joined.clear()
        self._retry_at = self._clock.steady() + _DENIED_SECONDS
