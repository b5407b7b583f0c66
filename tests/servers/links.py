"""One connection through a proxy, from its client to its server."""

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
"""About as much is held in each direction, beside what the kernel holds."""
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
        """Something was lost on the way, so that what comes after it would make no sense."""
        return bool(self._lost)

    async def carry(self) -> None:
        """Until both ends have said all; when it is cancelled or one end breaks off, both are reset."""
        try:
            await self._join()
            await self._close()
        except* OSError:
            pass
        finally:
            self._break_off()

    async def reset(self) -> None:
        """Both ends, also when it was cancelled before it began; returns when they are."""
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
            # Neither end is told that the other has gone; the proxy ends this when it heals.
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
            # That one end broke off is news too, and may be lost like any other.
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
        """Does nothing to what is closed already."""
        for writer in self._writers:
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            writer.transport.abort()
