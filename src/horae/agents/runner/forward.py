"""Forwards a loopback port to a unix socket: without a network, a client of HTTP reaches the model through it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

_CHUNK_BYTES: Final = 65_536


async def forward_port(port: int, path: str) -> asyncio.Server:
    """Listen on 127.0.0.1; every connection gets one of its own to the socket. Port 0 takes a free one."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            writer.close()
            far_writer.close()

    return await asyncio.start_server(connect, "127.0.0.1", port)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction to its end; the other may go on."""
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
