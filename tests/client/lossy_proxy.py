"""A proxy between a client and a server that can be encoded to lose answers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit


class LossyProxy:
    """Hands everything on. While `losses` is above zero, answers to requests that begin like `lossy_prefix` are read, and the
    connection is closed instead."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._listening: asyncio.Server | None = None
        self.losses = 0
        self.lossy_prefix = ""
        self.heads: list[str] = []

    async def open(self) -> str:
        self._listening = await asyncio.start_server(self._hand_on, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        assert self._listening is not None
        self._listening.close()
        await self._listening.wait_closed()

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request for each connection: what it answers is closed behind it."""
        there, away = await asyncio.open_connection(self._host, self._port)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            away.write(
                head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + await reader.readexactly(_length(head))
            )
            await away.drain()
            answer = await there.read()
            if self.losses and head.decode().startswith(self.lossy_prefix):
                self.losses -= 1
            else:
                writer.write(answer)
                await writer.drain()
        for each in (away, writer):
            each.close()
            with suppress(ConnectionError):
                await each.wait_closed()


def _length(head: bytes) -> int:
    for line in head.decode().lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return 0
