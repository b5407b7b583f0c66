"""Keep-alive HTTP connection with one request at a time and minimal client cost."""

from __future__ import annotations

import asyncio
import re
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"0\r\n\r\n"
_WITHOUT_BODY: Final = (204, 304)


class Reply(NamedTuple):
    """Status 0: the server closed the connection before it had answered."""

    status: int
    head: bytes = b""
    body: bytes = b""


class Line(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._came = bytearray()
        self._answer: asyncio.Future[Reply] | None = None
        self._headless = False

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes) -> Reply:
        assert self._transport is not None
        self._came.clear()
        self._headless = request.startswith(b"HEAD ")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def send(self, some: bytes) -> None:
        """Send without waiting for an answer."""
        assert self._transport is not None
        self._transport.write(some)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- what the loop calls ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._transport = None
        self._answered(Reply(0, bytes(self._came)))

    def data_received(self, data: bytes) -> None:
        self._came += data
        end = self._came.find(_END)
        if end < 0:
            return
        head, body = bytes(self._came[:end]), self._came[end + len(_END) :]
        status = int(head[9:12])
        if self._is_whole(status, head, body):
            self._answered(Reply(status, head, bytes(body)))
            if b"connection: close" in head.lower():
                self.close()

    def _is_whole(self, status: int, head: bytes, body: bytearray) -> bool:
        length = _LENGTH.search(head)
        if self._headless or status in _WITHOUT_BODY:
            return True
        if length is not None:
            return len(body) >= int(length[1])
        return _CHUNKED.search(head) is not None and body.endswith(_LAST_CHUNK)

    def _answered(self, reply: Reply) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(reply)


async def connected(base: str) -> Line:
    place = urlsplit(base)
    loop = asyncio.get_running_loop()
    _, line = await loop.create_connection(Line, place.hostname or "", place.port or 80)
    return line


def request(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    sent = {"Host": "localhost", **headers}
    if body:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
