"""A server that speaks as much of Redis's protocol as publishing takes, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self


class RedisServer:
    def __init__(self, *, password: str | None = None) -> None:
        self.url = ""
        self.published: list[tuple[str, bytes]] = []
        self.broken = False
        self._password = password

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                writer.write(self._answer(await _command(reader)))
                await writer.drain()
        writer.close()

    def _answer(self, words: list[bytes]) -> bytes:
        name = words[0].upper()
        if name == b"PUBLISH":
            if self.broken:
                return b"-READONLY You can't write against a read only replica.\r\n"
            self.published.append((words[1].decode(), words[2]))
            return b":1\r\n"
        if name == b"AUTH" and words[-1].decode() != self._password:
            return b"-WRONGPASS invalid username-password pair\r\n"
        return b"-ERR unknown command\r\n" if name == b"HELLO" else b"+OK\r\n"


async def _command(reader: asyncio.StreamReader) -> list[bytes]:
    count = int((await reader.readuntil(b"\r\n"))[1:])
    return [await _word(reader) for _ in range(count)]


async def _word(reader: asyncio.StreamReader) -> bytes:
    size = int((await reader.readuntil(b"\r\n"))[1:])
    return (await reader.readexactly(size + 2))[:-2]
