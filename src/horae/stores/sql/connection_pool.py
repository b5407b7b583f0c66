"""Connection pool of one event loop: idle connections are reused, a semaphore limits how many are open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from ...errors import StoreUnavailable
from .connection import Connection, ConnectionFactory

_DRAIN_SECONDS: Final = 5.0
"""Time that running work gets to finish when the pool is closed."""


class ConnectionPool:
    """Returns connections without a reset query, so that a single statement costs one round trip."""

    def __init__(self, factory: ConnectionFactory, size: int, on_connect: Callable[[], None]) -> None:
        self._factory = factory
        self._on_connect = on_connect
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._size = size
        self._slots = asyncio.Semaphore(size)
        self._closed = self._drained = False

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """Lend a connection exclusively. It goes back to the pool only if it is still usable, also after an error."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        async with self._slots:
            connection = await self._take_idle_or_connect()
            watch = StallWatch.of(connection, self._factory)
            try:
                yield connection
            except asyncio.CancelledError:
                # The server may still execute the statement: the next user of the connection would wait for its end.
                connection.abandon()
                raise
            finally:
                if watch is not None:
                    watch.cancel()
                if connection.is_usable and not self._drained:
                    self._idle.append(connection)
                else:
                    self._all.discard(connection)
                    connection.abandon()

    async def _take_idle_or_connect(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            self._all.discard(connection)
            connection.abandon()
        connection = await self._factory.connect()
        self._on_connect()
        self._all.add(connection)
        return connection

    def discard_idle(self) -> None:
        """Drop all idle connections: after one connection was lost, the others are likely dead too."""
        idle, self._idle = self._idle, []
        for connection in idle:
            self._all.discard(connection)
            connection.abandon()

    async def close(self) -> None:
        """Refuse new work, wait up to 5 s for running work, then close idle connections and abandon busy ones."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                for _ in range(self._size):
                    await self._slots.acquire()
        self._drained = True
        idle, self._idle = self._idle, []
        busy, self._all = self._all.difference(idle), set()
        for connection in busy:
            connection.abandon()
        for connection in idle:
            with suppress(Exception):
                await connection.close()


class StallWatch:
    """Watches a connection in use: while it waits, its server is probed, and a connection to a dead server is abandoned.

    A machine that is gone answers nothing, so that a statement would wait for its full timeout while another server
    serves already.
    """

    def __init__(self, connection: Connection, factory: ConnectionFactory, seconds: float) -> None:
        self._connection = connection
        self._factory = factory
        self._seconds = seconds
        self._probe: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin_probe)

    @classmethod
    def of(cls, connection: Connection, factory: ConnectionFactory) -> StallWatch | None:
        seconds = factory.stalled_seconds
        return None if seconds is None else cls(connection, factory, seconds)

    def cancel(self) -> None:
        self._timer.cancel()
        if self._probe is not None:
            self._probe.cancel()

    def _begin_probe(self) -> None:
        self._probe = asyncio.get_running_loop().create_task(self._run_probe())

    async def _run_probe(self) -> None:
        if await self._factory.is_serving(self._connection):
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._begin_probe)
        else:
            self._connection.abandon()
