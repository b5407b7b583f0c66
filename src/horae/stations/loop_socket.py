"""ZeroMQ socket on the event loop: reads in batches when its descriptor is ready, and sends without blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

import zmq

_BATCH: Final = 200
_USER_ID: Final = "User-Id"
_LAST: Final = int(zmq.NOBLOCK)
_MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)
"""Plain numbers: the operators of flags, which `send_multipart` applies to every part, take longer than to send it."""


class SendError(Enum):
    GONE = "gone"
    """There is no connection to this peer."""
    FULL = "full"
    """The peer does not read, and its queue is full."""


class LoopSocket:
    """`on_message` gets the parts of each message and the user of its connection: the public key that ZAP has accepted."""

    def __init__(self, socket: zmq.Socket[bytes], on_message: Callable[[list[bytes], str | None], None]) -> None:
        self._socket = socket
        self._on_message = on_message
        self._loop = asyncio.get_running_loop()
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._is_scheduled = False
        self._is_closed = False
        self._loop.add_reader(self._descriptor, self._read)
        self._schedule()

    def send(self, parts: Sequence[bytes]) -> SendError | None:
        try:
            for part in parts[:-1]:
                self._socket.send(part, _MORE)
            self._socket.send(parts[-1], _LAST)
        except zmq.Again:
            return SendError.FULL
        except zmq.ZMQError as error:
            if error.errno not in (zmq.EHOSTUNREACH, zmq.ENOTSOCK):
                raise
            return SendError.GONE
        finally:
            # The descriptor signals edges: a send may have consumed the one of a message that has arrived.
            self._schedule()
        return None

    def close(self, linger: int = 0) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_reader(self._descriptor)
            self._socket.close(linger)

    def _schedule(self) -> None:
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            self._loop.call_soon(self._read_scheduled)

    def _read_scheduled(self) -> None:
        self._is_scheduled = False
        self._read()

    def _read(self) -> None:
        for _ in range(_BATCH):
            if self._is_closed:
                return
            try:
                frames = self._receive()
            except zmq.Again:
                return
            self._on_message([frame.bytes for frame in frames], _user_of(frames[0]))
        self._schedule()

    def _receive(self) -> list[zmq.Frame]:
        """Receive a message. Each part knows whether one follows: `recv_multipart` asks the socket for it, which takes longer."""
        frame = self._socket.recv(_LAST, copy=False)
        frames = [frame]
        while frame.more:
            frame = self._socket.recv(_LAST, copy=False)
            frames.append(frame)
        return frames


def _user_of(frame: zmq.Frame) -> str | None:
    try:
        return str(frame.get(_USER_ID)) or None
    except zmq.ZMQError:
        return None
