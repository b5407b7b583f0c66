"""A server that means no good: what it says goes by the path that it is asked for. It counts who came, and who is gone."""

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

Speak = Callable[[socket.socket], None]


def _bomb(line: socket.socket) -> None:
    line.sendall(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_BOMB) + _BOMB)


def _endless(line: socket.socket) -> None:
    _for_ever(line, _HEAD + b"\r\n", _CHUNK)


def _endless_chunks(line: socket.socket) -> None:
    _for_ever(line, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + _CHUNK + b"\r\n")


def _endless_extension(line: socket.socket) -> None:
    """Of the first chunk, before any of it has come."""
    _so_much(line, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", _CHUNK)


def _endless_hints(line: socket.socket) -> None:
    _for_ever(line, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)


def _slow_head(line: socket.socket) -> None:
    clock = SystemClock()
    for byte in _HEAD + b"X-Slow: " + b"x" * 100_000:
        line.sendall(bytes([byte]))
        clock.sleep(0.05)


def _slow_body(line: socket.socket) -> None:
    clock = SystemClock()
    line.sendall(_HEAD + b"Content-Length: 100000\r\n\r\n")
    for _ in range(100_000):
        line.sendall(b"x")
        clock.sleep(0.05)


def _one_long_header(line: socket.socket) -> None:
    _so_much(line, _HEAD + b"X-Long: ", _CHUNK)


def _many_headers(line: socket.socket) -> None:
    _so_much(line, _HEAD, b"X-Many: of these\r\n" * 4_000)


def _garbage(line: socket.socket) -> None:
    line.sendall(bytes(range(256)) * 400)


def _reset(line: socket.socket) -> None:
    line.sendall(_HEAD + b"Content-Length: 100\r\n\r\nhalf")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _silent(line: socket.socket) -> None:
    while line.recv(1):
        pass


def _fine(line: socket.socket) -> None:
    line.sendall(_HEAD + b"Content-Length: 4\r\n\r\nfine")


def _for_ever(line: socket.socket, head: bytes, piece: bytes) -> None:
    line.sendall(head)
    while True:
        line.sendall(piece)


def _so_much(line: socket.socket, head: bytes, piece: bytes) -> None:
    line.sendall(head)
    for _ in range(_LOTS // len(piece)):
        line.sendall(piece)
    _silent(line)


WAYS: Final[Mapping[str, Speak]] = {
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
        self.came = 0
        self.here = 0
        self._inward = inward
        self._lock = Lock()
        self._door = socket.create_server((host, 0))
        self.port: int = self._door.getsockname()[1]
        Thread(target=self._open, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._door.accept()
                self._count(1)
                Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            path = line.recv(65_536).split(b" ")[1].decode().strip("/")
            if path == "inward":
                line.sendall(f"HTTP/1.1 302 Found\r\nLocation: {self._inward}\r\nContent-Length: 0\r\n\r\n".encode())
            else:
                WAYS[path](line)
        self._count(-1)

    def _count(self, number: int) -> None:
        with self._lock:
            self.came += max(number, 0)
            self.here += number


@contextmanager
def server(host: str, inward: str = "") -> Iterator[Server]:
    made = Server(host, inward)
    try:
        yield made
    finally:
        made.close()
