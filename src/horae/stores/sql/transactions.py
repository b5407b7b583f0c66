"""Transactions on a database server: begin and commit, retry after conflicts, translation of driver errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeVar

from ...clock import Clock
from ...errors import StoreUnavailable
from ..codec.rows import Row
from .connection import Connection, ConnectionFactory, ReadExtent
from .connection_pool import ConnectionPool
from .session_thread import SessionThread

_T = TypeVar("_T")

_PAUSES: Final = (0.0, 0.0, 0.005, 0.02, 0.08, 0.32)
"""Seconds before each try. After a deadlock the other transaction needs a moment to take the lock that it waited for: a try at
once may take that lock again, and end in the same deadlock."""
_CONNECTIONS: Final = 6
_SIDE_CONNECTIONS: Final = 2


class Session:
    """Runs work on pooled connections. The event loop that opens the store uses the main pool directly. Calls from any
    other loop, such as the one that renews leases, run on a thread of the session with a small pool of its own, so that
    they never wait for the main loop. `on_connect` is called after each new connection, before it is used."""

    def __init__(
        self,
        factory: ConnectionFactory,
        clock: Clock,
        pool_size: int = _CONNECTIONS,
        on_connect: Callable[[], None] = lambda: None,
    ) -> None:
        self._factory = factory
        self._clock = clock
        self._on_connect = on_connect
        self._pool_size = pool_size
        self._home_loop: asyncio.AbstractEventLoop | None = None
        self._pool: ConnectionPool | None = None
        self._side_loop: SessionThread | None = None
        self._side_pool: ConnectionPool | None = None
        self._loop_lock = threading.Lock()
        self.transactions = 0

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    def start(self) -> None:
        self._home_loop = asyncio.get_running_loop()
        self._pool = ConnectionPool(self._factory, self._pool_size, self._on_connect)

    async def stop(self) -> None:
        with self._loop_lock:
            pool, self._pool = self._pool, None
            side_loop, self._side_loop = self._side_loop, None
            side_pool, self._side_pool = self._side_pool, None
        if side_loop is not None and side_pool is not None:
            await asyncio.wrap_future(side_loop.submit(side_pool.close()))
            await asyncio.to_thread(side_loop.stop)
        if pool is not None:
            await pool.close()

    async def transact(
        self,
        work: Callable[[Connection], Awaitable[_T]],
        *,
        urgent: bool = True,  # noqa: ARG002 - a server has no queue
        peek: Callable[[Connection], Awaitable[_T | None]] | None = None,
    ) -> _T:
        """Run `work` in one transaction and commit it. `work` is called up to six times: again whenever the server aborted
        the transaction because of a concurrent one. `peek` runs in autocommit mode."""
        if peek is not None and (peeked := await self._dispatch(lambda pool: _run_alone(pool, peek))) is not None:
            return peeked
        return await self._dispatch(lambda pool: self._transact(pool, work))

    async def read(self, work: Callable[[Connection], Awaitable[_T]], *, extent: ReadExtent = "page") -> _T:  # noqa: ARG002 - all connections are alike
        """Run `work` in a read-only transaction on one snapshot."""
        return await self._dispatch(lambda pool: self._read(pool, work))

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run one named statement in autocommit mode."""
        return await self._dispatch(lambda pool: _run_alone(pool, lambda connection: connection.query(name, *values)))

    async def fetch(self, build: Callable[[list[Row]], _T], name: str, *values: Any) -> _T:
        return build(await self.query(name, *values))

    async def lookup(self, name: str, *values: Any) -> list[Row]:
        """Run one named statement that reads a few rows; SQLite reads them on the event loop."""
        return await self.query(name, *values)

    async def run_statement(self, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        """Run `work`, which executes a single statement, in autocommit mode; it is retried like a transaction."""
        return await self._dispatch(lambda pool: self._run_statement(pool, work))

    async def _dispatch(self, work: Callable[[ConnectionPool], Coroutine[Any, Any, _T]]) -> _T:
        if self._pool is None:
            raise StoreUnavailable("The store is closed.")
        if asyncio.get_running_loop() is self._home_loop:
            return await self._run_translated(self._pool, work)
        loop, pool = self._get_side_loop()
        return await asyncio.wrap_future(loop.submit(self._run_translated(pool, work)))

    def _get_side_loop(self) -> tuple[SessionThread, ConnectionPool]:
        """Return the side loop and its pool, created on first use; safe to call from several threads."""
        with self._loop_lock:
            if self._pool is None:
                raise StoreUnavailable("The store is closed.")
            if self._side_loop is None or self._side_pool is None:
                self._side_loop, self._side_pool = (
                    SessionThread("horae-store"),
                    ConnectionPool(self._factory, _SIDE_CONNECTIONS, self._on_connect),
                )
            return self._side_loop, self._side_pool

    async def _run_translated(
        self, pool: ConnectionPool, work: Callable[[ConnectionPool], Coroutine[Any, Any, _T]]
    ) -> _T:
        try:
            return await work(pool)
        except Exception as error:
            translated = self._factory.translate_error(error)
            if translated is None:
                raise
            if isinstance(translated, StoreUnavailable):
                pool.discard_idle()
            raise translated from error

    async def _transact(self, pool: ConnectionPool, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        for tries_left, pause in _tries():
            if pause:
                await self._clock.pause(pause)
            async with pool.acquire() as connection:
                try:
                    await connection.begin()
                    result = await work(connection)
                    await connection.commit()
                except asyncio.CancelledError:
                    connection.abandon()
                    raise
                except Exception as error:
                    await self._rollback(connection, error)
                    if tries_left and self._factory.is_retryable(error):
                        continue
                    raise
                self.transactions += 1
                return result
        raise AssertionError

    async def _run_statement(self, pool: ConnectionPool, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        for tries_left, pause in _tries():
            if pause:
                await self._clock.pause(pause)
            try:
                async with pool.acquire() as connection:
                    result = await work(connection)
            except Exception as error:
                if tries_left and self._factory.is_retryable(error):
                    continue
                raise
            self.transactions += 1
            return result
        raise AssertionError

    async def _rollback(self, connection: Connection, error: Exception) -> None:
        """Roll back, or abandon a connection that may be lost: a rollback on it could wait for another timeout."""
        try:
            if isinstance(self._factory.translate_error(error), StoreUnavailable):
                connection.abandon()
            else:
                await connection.rollback()
        except Exception:  # noqa: BLE001 - the first error is the one to report
            connection.abandon()

    async def _read(self, pool: ConnectionPool, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        async with pool.acquire() as connection:
            try:
                await connection.begin_read_only()
                result = await work(connection)
                await connection.commit()
            except asyncio.CancelledError:
                connection.abandon()
                raise
            except Exception as error:
                await self._rollback(connection, error)
                raise
            return result


def _tries() -> Iterator[tuple[int, float]]:
    """Yield the number of further tries and the pause before this one, for each try."""
    return zip(range(len(_PAUSES) - 1, -1, -1), _PAUSES, strict=True)


async def _run_alone(pool: ConnectionPool, work: Callable[[Connection], Awaitable[_T]]) -> _T:
    """Run a single statement in autocommit mode."""
    async with pool.acquire() as connection:
        return await work(connection)
