"""Transactions on a server: begun, tried again where that helps, and told in our words when they fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from ...errors import StoreUnavailable
from ..codec.rows import Row
from ..loop_thread import OwnLoop
from .connection import Door, Link
from .connection_pool import Pool

_T = TypeVar("_T")

_TRIES: Final = 6
_CONNECTIONS: Final = 6
_BESIDE: Final = 2


class Session:
    """Whoever opens the store has its connections. Another event loop, such as the one on which leases are renewed, is
    served by a thread of the store's own: it must not have to wait until the first one has time. `connected` is called
    with each new connection, before it is used."""

    def __init__(self, door: Door, most: int = _CONNECTIONS, connected: Callable[[], None] = lambda: None) -> None:
        self._door = door
        self._connected = connected
        self._most = most
        self._home: asyncio.AbstractEventLoop | None = None
        self._pool: Pool | None = None
        self._beside: OwnLoop | None = None
        self._pool_beside: Pool | None = None
        self._moving_in = threading.Lock()
        self.transactions = 0

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    def start(self) -> None:
        self._home = asyncio.get_running_loop()
        self._pool = Pool(self._door, self._most, self._connected)

    async def stop(self) -> None:
        with self._moving_in:
            pool, self._pool = self._pool, None
            beside, self._beside = self._beside, None
            pool_beside, self._pool_beside = self._pool_beside, None
        if beside is not None and pool_beside is not None:
            await asyncio.wrap_future(beside.begin(pool_beside.close()))
            await asyncio.to_thread(beside.end)
        if pool is not None:
            await pool.close()

    async def transact(self, work: Callable[[Link], Awaitable[_T]]) -> _T:
        """All of it or nothing. A decision may be asked again: the server may have ended one of two that were in each
        other's way."""
        return await self._here(lambda pool: self._transact(pool, work))

    async def read(self, work: Callable[[Link], Awaitable[_T]]) -> _T:
        """Several statements that see one instant."""
        return await self._here(lambda pool: self._read(pool, work))

    async def ask(self, name: str, *values: Any) -> list[Row]:
        """One statement, which is a transaction by itself."""

        async def work(pool: Pool) -> list[Row]:
            async with pool.link() as link:
                return await link.query(name, *values)

        return await self._here(work)

    async def at_once(self, work: Callable[[Link], Awaitable[_T]]) -> _T:
        """What is one statement, by whatever way it is said: it is a transaction by itself, and tried again like one."""
        return await self._here(lambda pool: self._at_once(pool, work))

    async def _here(self, work: Callable[[Pool], Coroutine[Any, Any, _T]]) -> _T:
        if self._pool is None:
            raise StoreUnavailable("The store is closed.")
        if asyncio.get_running_loop() is self._home:
            return await self._told(self._pool, work)
        loop, pool = self._other_loop()
        return await asyncio.wrap_future(loop.begin(self._told(pool, work)))

    def _other_loop(self) -> tuple[OwnLoop, Pool]:
        """Made once, whoever comes first: several threads may ask for it at the same moment."""
        with self._moving_in:
            if self._pool is None:
                raise StoreUnavailable("The store is closed.")
            if self._beside is None or self._pool_beside is None:
                self._beside, self._pool_beside = OwnLoop("horae-store"), Pool(self._door, _BESIDE, self._connected)
            return self._beside, self._pool_beside

    async def _told(self, pool: Pool, work: Callable[[Pool], Coroutine[Any, Any, _T]]) -> _T:
        try:
            return await work(pool)
        except Exception as error:
            told = self._door.translated(error)
            if told is None:
                raise
            if isinstance(told, StoreUnavailable):
                pool.forget()
            raise told from error

    async def _transact(self, pool: Pool, work: Callable[[Link], Awaitable[_T]]) -> _T:
        for tries_left in range(_TRIES - 1, -1, -1):
            async with pool.link() as link:
                try:
                    await link.begin()
                    answer = await work(link)
                    await link.commit()
                except asyncio.CancelledError:
                    link.abandon()
                    raise
                except Exception as error:
                    await self._undo(link, error)
                    if tries_left and self._door.is_worth_another_try(error):
                        continue
                    raise
                self.transactions += 1
                return answer
        raise AssertionError

    async def _at_once(self, pool: Pool, work: Callable[[Link], Awaitable[_T]]) -> _T:
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                async with pool.link() as link:
                    answer = await work(link)
            except Exception as error:
                if tries_left and self._door.is_worth_another_try(error):
                    continue
                raise
            self.transactions += 1
            return answer
        raise AssertionError

    async def _undo(self, link: Link, error: Exception) -> None:
        """A connection that may be lost is not asked for anything more: the answer could take as long again."""
        try:
            if isinstance(self._door.translated(error), StoreUnavailable):
                link.abandon()
            else:
                await link.rollback()
        except Exception:  # noqa: BLE001 - it is of no use any more, and what went wrong first is what matters
            link.abandon()

    async def _read(self, pool: Pool, work: Callable[[Link], Awaitable[_T]]) -> _T:
        async with pool.link() as link:
            try:
                await link.begin_reading()
                answer = await work(link)
                await link.commit()
            except asyncio.CancelledError:
                link.abandon()
                raise
            except Exception as error:
                await self._undo(link, error)
                raise
            return answer
