"""A web server on this machine whose behaviour is selected by the path or by the type of the posted event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self

_MUCH = 3 * 1024 * 1024


class Endpoint:
    def __init__(self) -> None:
        self.url = ""
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        """Requests that never get a response, as they arrive."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.headers.append(headers)
        self.bodies.append(body)
        command = head.split()[1] + _topic(body)
        if "please.never.end" in command:
            self.asked.put_nowait(command)
            await reader.read()  # until the client disconnects
            return
        answer = body if "please.echo" in command else b"x" * _MUCH if "please.say.much" in command else b'{"ok":true}'
        status = "500 Broken" if "please.fail" in command else "403 No" if "please.forbid" in command else "200 OK"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n".encode() + answer
        )
        await writer.drain()


def _topic(body: bytes) -> str:
    try:
        event = json.loads(body)
    except ValueError:
        return ""
    return str(event.get("type", "")) if isinstance(event, dict) else ""
