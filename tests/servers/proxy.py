"""TCP proxy on the loopback that can delay, stall, drop or reset connections; runs in its own thread."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from threading import Thread
from types import TracebackType
from typing import Final, Self

from tests.servers.links import PIECE, Link
from tests.servers.ports import HOST, ReservedPort, with_port
from tests.servers.wire import Mode, Wire

_PATIENCE: Final = 30.0


class Proxy:
    """Each method returns when its effect holds; callable from any thread and, briefly blocking, from an event loop."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._reserved = ReservedPort()
        self._wire = Wire()
        self._links: dict[asyncio.Task[None], Link] = {}
        self._entrance: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.heal()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._reserved.release()

    @property
    def port(self) -> int:
        return self._reserved.number

    @property
    def connections(self) -> int:
        return len(self._links)

    def through(self, url: str) -> str:
        """Return the address through this proxy."""
        return with_port(url, self.port)

    def delay(self, seconds: float) -> None:
        """Delay each chunk in each direction by `seconds`, in order."""
        self._do(self._change(Mode.OPEN, seconds))

    def stall(self) -> None:
        """Hold all data until `heal`; nothing is lost."""
        self._do(self._change(Mode.STALLED))

    def half_open(self, *, answers_only: bool = False) -> None:
        """Drop all data and connection ends without telling either side; new connections stay silent.

        With `answers_only` requests still arrive: the server executes them, and the client gets no answer.
        """
        self._do(self._change(Mode.DEAF if answers_only else Mode.HALF_OPEN))

    def cut(self) -> None:
        """Reset all connections and refuse new ones."""
        self._do(self._change(Mode.CUT))

    def heal(self) -> None:
        """Restore normal operation; reset connections that lost data, as after a partition."""
        self._do(self._change(Mode.OPEN))

    def _do(self, change: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(change, self._loop).result(_PATIENCE)

    async def _change(self, mode: Mode, delay: float = 0.0) -> None:
        self._wire.change(mode, delay)
        if mode is Mode.CUT:
            await self._shut()
            return
        if mode in {Mode.OPEN, Mode.STALLED}:
            await self._end([task for task, link in self._links.items() if link.spoiled])
        if self._entrance is None:
            self._entrance = await asyncio.start_server(self._take, HOST, self.port, limit=PIECE)

    async def _shut(self) -> None:
        if self._entrance is not None:
            self._entrance.close()
        await self._end(list(self._links))
        if self._entrance is not None:
            await self._entrance.wait_closed()
            self._entrance = None

    def _take(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self._wire.mode is Mode.CUT:
            # The connection was accepted while the listener was closing.
            writer.transport.abort()
            return
        link = Link(self._wire, self._target_port, reader, writer)
        task = self._loop.create_task(link.carry())
        self._links[task] = link
        task.add_done_callback(self._links.pop)

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        links = [self._links[task] for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for link in links:
            await link.reset()
