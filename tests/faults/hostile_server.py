"""Hostile HTTP server: the path selects the misbehaviour; the server counts accepted and open connections."""

from __future__ import annotations

import gzip
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import Final

from horae.clock import SystemClock

_HEAD: Final = b"HTTP/1.1 200 OK\r\n"
_CHUNK: Final = b"x" * 65_536
_LOTS: Final = 100_000_000
_BOMB: Final = gzip.compress(bytes(_LOTS))

Respond = Callable[[socket.socket], None]


def _bomb(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_BOMB) + _BOMB)


def _endless(connection: socket.socket) -> None:
    _for_ever(connection, _HEAD + b"\r\n", _CHUNK)


def _endless_chunks(connection: socket.socket) -> None:
    _for_ever(connection, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + _CHUNK + b"\r\n")


def _endless_extension(connection: socket.socket) -> None:
    """Send an endless chunk extension before the first chunk."""
    _so_much(connection, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", _CHUNK)


def _endless_hints(connection: socket.socket) -> None:
    _for_ever(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)


def _slow_head(connection: socket.socket) -> None:
    clock = SystemClock()
    for byte in _HEAD + b"X-Slow: " + b"x" * 100_000:
        connection.sendall(bytes([byte]))
        clock.sleep(0.05)


def _slow_body(connection: socket.socket) -> None:
    clock = SystemClock()
    connection.sendall(_HEAD + b"Content-Length: 100000\r\n\r\n")
    for _ in range(100_000):
        connection.sendall(b"x")
        clock.sleep(0.05)


def _one_long_header(connection: socket.socket) -> None:
    _so_much(connection, _HEAD + b"X-Long: ", _CHUNK)


def _many_headers(connection: socket.socket) -> None:
    _so_much(connection, _HEAD, b"X-Many: of these\r\n" * 4_000)


def _garbage(connection: socket.socket) -> None:
    connection.sendall(bytes(range(256)) * 400)


def _reset(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Content-Length: 100\r\n\r\nhalf")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _silent(connection: socket.socket) -> None:
    while connection.recv(1):
        pass


def _fine(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Content-Length: 4\r\n\r\nfine")


def _for_ever(connection: socket.socket, head: bytes, piece: bytes) -> None:
    connection.sendall(head)
    while True:
        connection.sendall(piece)


def _so_much(connection: socket.socket, head: bytes, piece: bytes) -> None:
    connection.sendall(head)
    for _ in range(_LOTS // len(piece)):
        connection.sendall(piece)
    _silent(connection)


RESPONSES: Final[Mapping[str, Respond]] = {
    "bomb": _bomb,
    "endless": _endless,
    "endless-chunks": _endless_chunks,
    "endless-extension": _endless_extension,
    "endless-hints": _endless_hints,
    "slow-head": _slow_head,
    "slow-body": _slow_body,
    "one-long-header": _one_long_header,
    "many-headers": _many_headers,
    "garbage": _garbage,
    "reset": _reset,
    "silent": _silent,
    "fine": _fine,
}


class Server:
    def __init__(self, host: str, inward: str = "") -> None:
        self.accepted = 0
        self.connected = 0
        self._inward = inward
        self._lock = Lock()
        self._listener = socket.create_server((host, 0))
        self.port: int = self._listener.getsockname()[1]
        Thread(target=self._open, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._count(1)
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            path = connection.recv(65_536).split(b" ")[1].decode().strip("/")
            if path == "inward":
                connection.sendall(
                    f"HTTP/1.1 302 Found\r\nLocation: {self._inward}\r\nContent-Length: 0\r\n\r\n".encode()
                )
            else:
                RESPONSES[path](connection)
        self._count(-1)

    def _count(self, number: int) -> None:
        with self._lock:
            self.accepted += max(number, 0)
            self.connected += number


@contextmanager
def server(host: str, inward: str = "") -> Iterator[Server]:
    made = Server(host, inward)
    try:
        yield made
    finally:
        made.close()
