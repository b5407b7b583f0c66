"""One proxied connection between a client and a server."""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from typing import Final

from tests.servers.ports import HOST
from tests.servers.wire import Toward, Wire

PIECE: Final = 64 * 1024
"""Approximate bytes buffered in each direction, besides kernel buffers."""
_RESET_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class Link:
    def __init__(self, wire: Wire, server_port: int, reader: StreamReader, writer: StreamWriter) -> None:
        self._wire = wire
        self._server_port = server_port
        self._reader = reader
        self._writers = [writer]
        self._lost: set[Toward] = set()

    @property
    def spoiled(self) -> bool:
        """Whether bytes were lost, so that later bytes would make no sense."""
        return bool(self._lost)

    async def carry(self) -> None:
        """Copy both directions until both ends have closed; reset both on cancellation or a broken connection."""
        try:
            await self._join()
            await self._close()
        except* OSError:
            pass
        finally:
            self._break_off()

    async def reset(self) -> None:
        """Reset both ends, also of a link that was cancelled before it started."""
        self._break_off()
        for writer in self._writers:
            with suppress(OSError):
                await writer.wait_closed()

    async def _join(self) -> None:
        client = self._writers[0]
        if await self._wire.admits(Toward.SERVER):
            answers, server = await asyncio.open_connection(HOST, self._server_port, limit=PIECE)
            self._writers.append(server)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(self._reader, server, Toward.SERVER))
                both.create_task(self._pump(answers, client, Toward.CLIENT))
        else:
            self._lost.add(Toward.SERVER)
            await self._pump(self._reader, client, Toward.SERVER)
        if self.spoiled:
            # Neither end learns that the other has gone; the proxy resets the link when it heals.
            await asyncio.Event().wait()

    async def _pump(self, source: StreamReader, sink: StreamWriter, toward: Toward) -> None:
        try:
            while piece := await source.read(PIECE):
                if await self._arrives(toward):
                    sink.write(piece)
                    await sink.drain()
            if await self._arrives(toward):
                sink.write_eof()
        except OSError:
            # The end of a connection may be lost like any other data.
            if await self._arrives(toward):
                raise

    async def _arrives(self, toward: Toward) -> bool:
        if toward not in self._lost and not await self._wire.admits(toward):
            self._lost.add(toward)
        return toward not in self._lost

    async def _close(self) -> None:
        for writer in self._writers:
            writer.close()
        for writer in self._writers:
            await writer.wait_closed()

    def _break_off(self) -> None:
        """Reset an open end; a closed one is ignored."""
        for writer in self._writers:
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            writer.transport.abort()
