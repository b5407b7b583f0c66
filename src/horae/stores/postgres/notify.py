"""The ring between processes on one schema: NOTIFY, heard on a connection of its own. It may get lost; polling is the truth."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...clock import SystemClock
from ...store_retry import StoreRetry
from .address import Address
from .connection_factory import PostgresDoor
from .errors import said
from .shared_transactions import channel

if TYPE_CHECKING:
    import asyncpg

_AGAIN_SECONDS: Final = 1.0
_LAST_WORD_SECONDS: Final = 2.0
_SILENCE_SECONDS: Final = 60.0
"""Nothing is heard on a connection that was cut off, and nothing says so: after so long it is asked whether it is there."""
_ANSWER_SECONDS: Final = 5.0


class NotifyRing:
    """One connection to hear and to ring. While it is away nothing is heard, and after that it is looked once."""

    def __init__(self, url: str) -> None:
        self._address = Address.parsed(url)
        self._door = PostgresDoor(self._address)
        self._clock = SystemClock()
        self._retry = StoreRetry("waking by notification", self._clock)
        self._name = secrets.token_hex(6)
        self._channel = channel(self._address.schema)
        self._heard: Callable[[], None] | None = None
        self._bell = asyncio.Event()
        self._rung = False
        self._sent = asyncio.Event()
        self._sent.set()
        self._work: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """However often it was rung meanwhile, one word to the others is enough."""
        self._rung = True
        self._sent.clear()
        self._begin()
        self._bell.set()

    def listen(self, heard: Callable[[], None]) -> None:
        self._heard = heard
        self._begin()
        self._bell.set()

    def close(self) -> None:
        self._heard = None
        self._bell.set()

    async def finish(self) -> None:
        """What was rung is on its way before the process goes, if the server can be reached at all."""
        if self._work is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORD_SECONDS):
                await self._sent.wait()
        work, self._work = self._work, None
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    def _begin(self) -> None:
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._go_on())

    async def _go_on(self) -> None:
        while True:
            began = self._clock.steady()
            try:
                await self._live()
            except Exception as error:  # noqa: BLE001 - whatever it is, polling carries meanwhile
                self._retry.failed(said(error))
            if self._clock.steady() - began < _AGAIN_SECONDS:
                # Whoever throws us out at once is not asked again and again.
                await self._clock.pause(_AGAIN_SECONDS)

    async def _live(self) -> None:
        """From the first word of a connection to its end."""
        connection = await self._door.connection(self._address.direct, synchronous_commit="off")
        try:
            self._retry.succeeded()
            connection.add_termination_listener(self._gone)
            await self._serve(connection)
        finally:
            connection.terminate()

    def _gone(self, _: object) -> None:
        self._bell.set()

    async def _serve(self, connection: asyncpg.Connection[Any]) -> None:
        """Until the connection is lost: hear, and ring."""
        listening = False
        while not connection.is_closed():
            self._bell.clear()
            if self._heard is not None and not listening:
                await connection.add_listener(self._channel, self._hear)
                listening = True
                # Only now: what was rung before this was heard by nobody.
                self._look()
            if self._rung:
                await self._tell(connection)
            else:
                await self._something_happens(connection)

    async def _tell(self, connection: asyncpg.Connection[Any]) -> None:
        self._rung = False
        try:
            await connection.execute("SELECT pg_notify($1, $2)", self._channel, self._name)
        except BaseException:
            self._rung = True
            raise
        if not self._rung:
            self._sent.set()

    async def _something_happens(self, connection: asyncpg.Connection[Any]) -> None:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                await self._bell.wait()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=_ANSWER_SECONDS)

    def _hear(self, _connection: object, _process: int, _channel: str, who: object) -> None:
        if who != self._name:
            self._look()

    def _look(self) -> None:
        if self._heard is not None:
            self._heard()
