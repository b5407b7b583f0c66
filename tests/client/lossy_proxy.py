"""TCP proxy between a client and a server that drops selected responses."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit


class LossyProxy:
    """Forwards requests and responses. While `losses` is above zero, a response to a request that starts with `lossy_prefix`
    is read from the server, and the connection to the client is closed instead."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._server: asyncio.Server | None = None
        self.losses = 0
        self.lossy_prefix = ""
        self.heads: list[str] = []

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one request per connection, and close both sides after the response."""
        upstream_reader, upstream_writer = await asyncio.open_connection(self._host, self._port)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            upstream_writer.write(
                head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + await reader.readexactly(_length(head))
            )
            await upstream_writer.drain()
            answer = await upstream_reader.read()
            if self.losses and head.decode().startswith(self.lossy_prefix):
                self.losses -= 1
            else:
                writer.write(answer)
                await writer.drain()
        for each in (upstream_writer, writer):
            each.close()
            with suppress(ConnectionError):
                await each.wait_closed()


def _length(head: bytes) -> int:
    for line in head.decode().lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return 0
