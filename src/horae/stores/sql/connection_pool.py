"""A few connections that are used again and again by one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from ...errors import StoreUnavailable
from .connection import Door, Link

_LAST_SECONDS: Final = 5.0
"""So long may what was accepted take to end when the store is closed."""


class Pool:
    """Nothing is said to the server when a connection comes back, so that a statement costs one round trip."""

    def __init__(self, door: Door, most: int, connected: Callable[[], None]) -> None:
        self._door = door
        self._connected = connected
        self._idle: list[Link] = []
        self._all: set[Link] = set()
        self._most = most
        self._turn = asyncio.Semaphore(most)
        self._closed = self._over = False

    @asynccontextmanager
    async def link(self) -> AsyncIterator[Link]:
        """One that nobody else uses meanwhile. After an error it is not used again unless it is sound."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        async with self._turn:
            link = await self._one()
            try:
                yield link
            except asyncio.CancelledError:
                # The server may still be at it, and nobody knows how long: whoever came next would have to wait for that.
                link.abandon()
                raise
            finally:
                if link.usable and not self._over:
                    self._idle.append(link)
                else:
                    self._all.discard(link)
                    link.abandon()

    async def _one(self) -> Link:
        while self._idle:
            link = self._idle.pop()
            if link.usable:
                return link
            self._all.discard(link)
            link.abandon()
        link = await self._door.connect()
        self._connected()
        self._all.add(link)
        return link

    def forget(self) -> None:
        """Connections that were idle may all have died with one that was not: each is made anew."""
        idle, self._idle = self._idle, []
        for link in idle:
            self._all.discard(link)
            link.abandon()

    async def close(self) -> None:
        """What was accepted may end first, if it does so soon."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                for _ in range(self._most):
                    await self._turn.acquire()
        self._over = True
        idle, self._idle = self._idle, []
        busy, self._all = self._all.difference(idle), set()
        for link in busy:
            link.abandon()
        for link in idle:
            with suppress(Exception):
                await link.close()
