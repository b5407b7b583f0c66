"""Wake-up between processes on one MySQL or MariaDB server, which has no NOTIFY.

A listener takes a numbered advisory lock (GET_LOCK) and sleeps in `SELECT SLEEP`. A notifier reads which connections hold
the numbered locks (IS_USED_LOCK) and ends the sleep of each with KILL QUERY, which every user may do to its own
connections. A wake-up may get lost, for example between two sleeps: the store is polled every second anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from ...clock import Clock
from .address import Address
from .connection_factory import MySQLConnectionFactory
from .errors import code_of
from .server_version import fetch_row

LOG: Final = logging.getLogger("horae")
MAX_LISTENERS: Final = 64
_SLEEP_SECONDS: Final = 30
_RECONNECT_SECONDS: Final = 1.0
_SECOND_WAKE_SECONDS: Final = 0.02
"""Delay of a second wake-up after each one: a notification that arrives between two sleeps is lost."""
_FLUSH_SECONDS: Final = 2.0
_IDLE_SECONDS: Final = 30.0
_INTERRUPTED: Final = 1317
_NO_SUCH_THREAD: Final = 1094
_NOT_THE_OWNER: Final = 1095


class BehindProxyError(Exception):
    """The server's connection ids are not those of this connection, so that KILL could hit another one."""


class MySQLNotifier:
    """Uses at most two connections: one that sleeps and listens, and one that notifies, closed after 30 s without use."""

    def __init__(self, url: str, clock: Clock) -> None:
        address = Address.parse(url)
        place = f"{address.database}/{address.prefix}"
        self._lock_prefix = f"horae_ring_{hashlib.sha256(place.encode()).hexdigest()[:16]}"
        self._factory = MySQLConnectionFactory(address, clock)
        self._clock = clock
        self._on_wakeup: Callable[[], None] | None = None
        self._listener: int | None = None
        """Connection id of this process's own sleep, which its own notifications skip."""
        self._is_off = False
        """Set behind a proxy, where no process is notified: KILL could hit another connection."""
        self._pending = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()
        self._listen_task: asyncio.Task[None] | None = None
        self._notify_task: asyncio.Task[None] | None = None

    def notify(self) -> None:
        if self._is_off:
            return
        self._sent.clear()
        self._pending.set()
        if self._notify_task is None or self._notify_task.done():
            self._notify_task = asyncio.get_running_loop().create_task(self._keep_trying(self._notify_until_idle))

    def listen(self, on_wakeup: Callable[[], None]) -> None:
        self._on_wakeup = on_wakeup
        if self._is_off:
            return
        if self._listen_task is None or self._listen_task.done():
            self._listen_task = asyncio.get_running_loop().create_task(self._keep_trying(self._listen_until_lost))

    def close(self) -> None:
        self._on_wakeup = None
        if self._listen_task is not None:
            self._listen_task.cancel()

    async def finish(self) -> None:
        if self._notify_task is not None and not self._notify_task.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await self._sent.wait()
        tasks = [task for task in (self._notify_task, self._listen_task) if task is not None]
        self._notify_task = self._listen_task = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_trying(self, run: Callable[[], Awaitable[bool]]) -> None:
        """Repeat `run` until it returns True. The first of a series of errors is logged; polling continues meanwhile."""
        is_failing = False
        while True:
            try:
                if await run():
                    return
                is_failing = False
            except BehindProxyError:
                LOG.info(
                    "a proxy is in front of the database: changes of other processes are found by polling each second"
                )
                self._is_off = True
                self._sent.set()
                return
            except Exception as error:  # noqa: BLE001 - polling continues whatever the error
                if not is_failing:
                    LOG.warning("other processes cannot be woken for now, and polling continues: %s", error)
                is_failing = True
                await self._clock.pause(_RECONNECT_SECONDS)

    # --- listening -------------------------------------------------------------------------------------------------

    async def _listen_until_lost(self) -> bool:
        connection = await self._connect()
        try:
            self._listener = connection.thread_id()
            if not await self._take_slot(connection):
                LOG.warning("more than %d processes listen: this one polls each second instead", MAX_LISTENERS)
                return True
            # Notifications from before the lock was taken were lost: wake the listener once.
            self._wake_listener()
            while True:
                await self._sleep(connection)
        finally:
            self._listener = None
            connection.close()

    async def _take_slot(self, connection: Any) -> bool:
        for slot in range(MAX_LISTENERS):
            (is_taken,) = await fetch_row(connection, f"SELECT GET_LOCK('{self._lock_prefix}_{slot}', 0)")
            if is_taken == 1:
                return True
        return False

    async def _sleep(self, connection: Any) -> None:
        try:
            (is_woken,) = await fetch_row(connection, f"SELECT SLEEP({_SLEEP_SECONDS})")
        except Exception as error:
            if code_of(error) != _INTERRUPTED:
                raise
            is_woken = 1
        if is_woken:
            self._wake_listener()
            asyncio.get_running_loop().call_later(_SECOND_WAKE_SECONDS, self._wake_listener)

    def _wake_listener(self) -> None:
        if self._on_wakeup is not None:
            self._on_wakeup()

    # --- notifying -------------------------------------------------------------------------------------------------

    async def _notify_until_idle(self) -> bool:
        """Send a notification whenever one is pending; return True after 30 s without one, with the connection closed."""
        connection = await self._connect()
        try:
            while True:
                self._pending.clear()
                await self._notify_all(connection)
                if not self._pending.is_set():
                    self._sent.set()
                try:
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await self._pending.wait()
                except TimeoutError:
                    return True
        except BaseException:
            # The notification is sent again on the next connection.
            self._pending.set()
            raise
        finally:
            connection.close()

    async def _notify_all(self, connection: Any) -> None:
        lock_holders = ", ".join(f"IS_USED_LOCK('{self._lock_prefix}_{slot}')" for slot in range(MAX_LISTENERS))
        for holder in await fetch_row(connection, f"SELECT {lock_holders}"):
            if holder is not None and holder != self._listener:
                await self._kill_sleep(connection, int(holder))

    async def _kill_sleep(self, connection: Any, holder: int) -> None:
        try:
            async with connection.cursor() as cursor:
                await cursor.execute(f"KILL QUERY {holder}")
        except Exception as error:
            if code_of(error) not in (_NO_SUCH_THREAD, _NOT_THE_OWNER):
                raise

    async def _connect(self) -> Any:
        connection = await self._factory.open_raw()
        try:
            await _refuse_proxy(connection)
        except BaseException:
            connection.close()
            raise
        return connection


async def _refuse_proxy(connection: Any) -> None:
    (server_id,) = await fetch_row(connection, "SELECT CONNECTION_ID()")
    if server_id != connection.thread_id():
        raise BehindProxyError
