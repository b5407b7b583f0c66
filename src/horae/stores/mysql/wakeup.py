"""Wake-up between processes on one MySQL or MariaDB server, which has no NOTIFY.

A listener takes a numbered advisory lock (GET_LOCK) and sleeps in `SELECT SLEEP`. A ringer asks who holds the numbered locks
(IS_USED_LOCK) and ends the sleep of each with KILL QUERY, which every user may do to its own connections. A wake-up may get
lost, for example between two sleeps: the store is looked at every second all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from ...clock import SystemClock
from .address import Address
from .connection_factory import MySQLDoor
from .errors import code_of
from .server_version import one_row

LOG: Final = logging.getLogger("horae")
SLOTS: Final = 64
_SLEEP_SECONDS: Final = 30
_AGAIN_SECONDS: Final = 1.0
_AFTERTHOUGHT_SECONDS: Final = 0.02
"""A wake-up between two sleeps is lost: so long after each, the store is looked at once more."""
_LAST_WORD_SECONDS: Final = 2.0
_IDLE_SECONDS: Final = 30.0
_INTERRUPTED: Final = 1317
_NO_SUCH_THREAD: Final = 1094
_NOT_THE_OWNER: Final = 1095


class BehindProxyError(Exception):
    """The server's connection ids are not those of this connection, so that KILL could hit another one."""


class LockRing:
    """Two connections at most: one that sleeps and hears, and one that rings, closed after half a minute of silence."""

    def __init__(self, url: str) -> None:
        address = Address.parsed(url)
        place = f"{address.database}/{address.prefix}"
        self._name = f"horae_ring_{hashlib.sha256(place.encode()).hexdigest()[:16]}"
        self._door = MySQLDoor(address)
        self._clock = SystemClock()
        self._heard: Callable[[], None] | None = None
        self._listener: int | None = None
        """The connection id of our own sleep: it is not to be woken by our own ring."""
        self._is_off = False
        """Behind a proxy nobody is woken: KILL could hit another connection."""
        self._bell = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()
        self._listening: asyncio.Task[None] | None = None
        self._ringing: asyncio.Task[None] | None = None

    def ring(self) -> None:
        if self._is_off:
            return
        self._sent.clear()
        self._bell.set()
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.get_running_loop().create_task(self._keep_trying(self._ring_when_asked))

    def listen(self, heard: Callable[[], None]) -> None:
        self._heard = heard
        if self._is_off:
            return
        if self._listening is None or self._listening.done():
            self._listening = asyncio.get_running_loop().create_task(self._keep_trying(self._sleep_and_hear))

    def close(self) -> None:
        self._heard = None
        if self._listening is not None:
            self._listening.cancel()

    async def finish(self) -> None:
        if self._ringing is not None and not self._ringing.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_SECONDS):
                    await self._sent.wait()
        tasks = [task for task in (self._ringing, self._listening) if task is not None]
        self._ringing = self._listening = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_trying(self, live: Callable[[], Awaitable[bool]]) -> None:
        """Until `live` is done. Trouble is logged when it begins; looking every second carries meanwhile."""
        is_troubled = False
        while True:
            try:
                if await live():
                    return
                is_troubled = False
            except BehindProxyError:
                LOG.info("a proxy stands before the database: other processes are seen by a look each second")
                self._is_off = True
                self._sent.set()
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, looking carries meanwhile
                if not is_troubled:
                    LOG.warning("other processes cannot be woken for now, and looking carries meanwhile: %s", error)
                is_troubled = True
                await self._clock.pause(_AGAIN_SECONDS)

    # --- hearing -------------------------------------------------------------------------------------------------

    async def _sleep_and_hear(self) -> bool:
        connection = await self._connected()
        try:
            self._listener = connection.thread_id()
            if not await self._take_slot(connection):
                LOG.warning("more than %d processes listen: this one looks each second instead", SLOTS)
                return True
            # What was rung before this was not heard.
            self._look()
            while True:
                await self._sleep(connection)
        finally:
            self._listener = None
            connection.close()

    async def _take_slot(self, connection: Any) -> bool:
        for slot in range(SLOTS):
            if (await one_row(connection, f"SELECT GET_LOCK('{self._name}_{slot}', 0)"))[0] == 1:
                return True
        return False

    async def _sleep(self, connection: Any) -> None:
        try:
            (is_woken,) = await one_row(connection, f"SELECT SLEEP({_SLEEP_SECONDS})")
        except Exception as error:
            if code_of(error) != _INTERRUPTED:
                raise
            is_woken = 1
        if is_woken:
            self._look()
            asyncio.get_running_loop().call_later(_AFTERTHOUGHT_SECONDS, self._look)

    def _look(self) -> None:
        if self._heard is not None:
            self._heard()

    # --- ringing -------------------------------------------------------------------------------------------------

    async def _ring_when_asked(self) -> bool:
        """True: nothing was rung for a while, and the connection is given back."""
        connection = await self._connected()
        try:
            while True:
                self._bell.clear()
                await self._wake_all(connection)
                if not self._bell.is_set():
                    self._sent.set()
                try:
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await self._bell.wait()
                except TimeoutError:
                    return True
        except BaseException:
            # It is tried again with the next connection.
            self._bell.set()
            raise
        finally:
            connection.close()

    async def _wake_all(self, connection: Any) -> None:
        asked = ", ".join(f"IS_USED_LOCK('{self._name}_{slot}')" for slot in range(SLOTS))
        for holder in await one_row(connection, f"SELECT {asked}"):
            if holder is not None and holder != self._listener:
                await self._wake(connection, int(holder))

    async def _wake(self, connection: Any, holder: int) -> None:
        try:
            async with connection.cursor() as cursor:
                await cursor.execute(f"KILL QUERY {holder}")
        except Exception as error:
            if code_of(error) not in (_NO_SUCH_THREAD, _NOT_THE_OWNER):
                raise

    async def _connected(self) -> Any:
        connection = await self._door.connection()
        try:
            await _refuse_proxy(connection)
        except BaseException:
            connection.close()
            raise
        return connection


async def _refuse_proxy(connection: Any) -> None:
    (known,) = await one_row(connection, "SELECT CONNECTION_ID()")
    if known != connection.thread_id():
        raise BehindProxyError
