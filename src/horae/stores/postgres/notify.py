"""Wake-up notifications between processes on one schema, by LISTEN and NOTIFY on a dedicated connection.

A notification may get lost; correctness relies on polling alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...clock import Clock
from ...store_retry import StoreRetry
from .address import Address
from .connection_factory import PostgresConnectionFactory
from .errors import first_line
from .shared_transactions import notification_channel

if TYPE_CHECKING:
    import asyncpg

_RECONNECT_SECONDS: Final = 1.0
_FLUSH_SECONDS: Final = 2.0
_KEEPALIVE_SECONDS: Final = 60.0
"""Interval of keep-alive queries: a listening connection that was cut off would otherwise never be noticed."""
_KEEPALIVE_TIMEOUT: Final = 5.0


class PostgresNotifier:
    """Sends and receives on one connection. After a reconnect it wakes the listener once, as notifications may be lost."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._address = Address.parse(url)
        self._factory = PostgresConnectionFactory(self._address, clock)
        self._clock = clock
        self._retry = StoreRetry("waking by notification", self._clock)
        self._sender_id = secrets.token_hex(6)
        self._channel = notification_channel(self._address.schema)
        self._on_wakeup: Callable[[], None] | None = None
        self._changed = asyncio.Event()
        self._is_pending = False
        self._sent = asyncio.Event()
        self._sent.set()
        self._worker: asyncio.Task[None] | None = None

    def notify(self) -> None:
        """Notify the other processes; several calls before the next send are merged into one notification."""
        self._is_pending = True
        self._sent.clear()
        self._ensure_worker()
        self._changed.set()

    def listen(self, on_wakeup: Callable[[], None]) -> None:
        self._on_wakeup = on_wakeup
        self._ensure_worker()
        self._changed.set()

    def close(self) -> None:
        self._on_wakeup = None
        self._changed.set()

    async def finish(self) -> None:
        """Wait up to 2 s until a pending notification is sent, then stop."""
        if self._worker is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._sent.wait()
        work, self._worker = self._worker, None
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        # An event belongs to the loop in which it was awaited; the store may be opened again in another one.
        self._changed, self._sent = asyncio.Event(), asyncio.Event()
        self._sent.set()

    def _ensure_worker(self) -> None:
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._reconnect_forever())

    async def _reconnect_forever(self) -> None:
        while True:
            started = self._clock.steady()
            try:
                await self._run_connection()
            except Exception as error:  # noqa: BLE001 - polling continues whatever the error
                self._retry.failed(first_line(error))
            if self._clock.steady() - started < _RECONNECT_SECONDS:
                # Back off if the server ends the connection at once.
                await self._clock.pause(_RECONNECT_SECONDS)

    async def _run_connection(self) -> None:
        """Open a connection and serve it until it is lost."""
        connection = await self._factory.open_raw(self._address.direct, synchronous_commit="off")
        try:
            self._retry.succeeded()
            connection.add_termination_listener(self._on_terminated)
            await self._serve(connection)
        finally:
            connection.terminate()

    def _on_terminated(self, _: object) -> None:
        self._changed.set()

    async def _serve(self, connection: asyncpg.Connection[Any]) -> None:
        """Listen, and send pending notifications, until the connection is lost."""
        is_listening = False
        while not connection.is_closed():
            self._changed.clear()
            if self._on_wakeup is not None and not is_listening:
                await connection.add_listener(self._channel, self._on_notification)
                is_listening = True
                # Notifications from before LISTEN were lost: wake the listener once.
                self._wake()
            if self._is_pending:
                await self._send(connection)
            else:
                await self._wait_for_change(connection)

    async def _send(self, connection: asyncpg.Connection[Any]) -> None:
        self._is_pending = False
        try:
            await connection.execute("SELECT pg_notify($1, $2)", self._channel, self._sender_id)
        except BaseException:
            self._is_pending = True
            raise
        if not self._is_pending:
            self._sent.set()

    async def _wait_for_change(self, connection: asyncpg.Connection[Any]) -> None:
        try:
            async with asyncio.timeout(_KEEPALIVE_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=_KEEPALIVE_TIMEOUT)

    def _on_notification(self, _connection: object, _process: int, _channel: str, sender_id: object) -> None:
        if sender_id != self._sender_id:
            self._wake()

    def _wake(self) -> None:
        if self._on_wakeup is not None:
            self._on_wakeup()
