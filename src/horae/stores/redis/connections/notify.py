"""Wake-up notifications between processes on one deployment, by PUBLISH and SUBSCRIBE on connections of their own.

A notification may get lost; correctness relies on polling alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Any, Final

from ....clock import Clock
from ....store_retry import StoreRetry
from ..layout.keys import Keys
from .address import Address
from .connection import close_client, make_client, require_driver, run_cancellable
from .errors import first_line

_RECONNECT_SECONDS: Final = 1.0
_FLUSH_SECONDS: Final = 2.0
_KEEPALIVE_SECONDS: Final = 60.0
"""Interval of keep-alive pings: a listening connection that was cut off would otherwise never be noticed."""
_ANSWER_SECONDS: Final = 5.0


class RedisNotifier:
    """One connection sends and one listens. After a reconnect it wakes the listener once, as notifications may be lost."""

    def __init__(self, url: str, clock: Clock) -> None:
        require_driver()
        self._address = Address.parse(url)
        self._channel = Keys(self._address.prefix).channel_of(self._address.database)
        self._clock = clock
        self._sender_id = secrets.token_hex(6)
        self._on_wakeup: Callable[[], None] | None = None
        self._is_pending = False
        self._tries = -1
        self._changed = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()
        self._workers: list[asyncio.Task[None]] = []

    def notify(self) -> None:
        """Notify the other processes; several calls before the next send are merged into one notification."""
        self._is_pending = True
        self._sent.clear()
        self._ensure_workers()
        self._changed.set()

    def listen(self, on_wakeup: Callable[[], None]) -> None:
        self._on_wakeup = on_wakeup
        self._ensure_workers()

    def close(self) -> None:
        self._on_wakeup = None

    async def finish(self) -> None:
        """Wait up to 2 s until a pending notification is sent, then stop."""
        if not self._workers:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._sent.wait()
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        # An event belongs to the loop in which it was awaited; the store may be opened again in another one.
        self._changed, self._sent = asyncio.Event(), asyncio.Event()
        self._sent.set()

    def _ensure_workers(self) -> None:
        loop = asyncio.get_running_loop()
        works = [self._send_forever] if self._on_wakeup is None else [self._send_forever, self._listen_forever]
        for work in works[len(self._workers) :]:
            self._workers.append(loop.create_task(self._reconnect_forever(work)))

    async def _reconnect_forever(self, work: Callable[[Any, StoreRetry], Any]) -> None:
        retry = StoreRetry("waking by notification", self._clock)
        while True:
            started = self._clock.steady()
            client = make_client(self._next_address(), 1, command_seconds=_ANSWER_SECONDS)
            try:
                await work(client, retry)
            except Exception as error:  # noqa: BLE001 - polling continues whatever the error
                retry.failed(first_line(error))
            finally:
                with contextlib.suppress(Exception):
                    await close_client(client)
            if self._clock.steady() - started < _RECONNECT_SECONDS:
                # Back off if the server ends the connection at once.
                await self._clock.pause(_RECONNECT_SECONDS)

    def _next_address(self) -> Address:
        """Return the address to connect to. In a cluster any server passes notifications on to all others."""
        if self._address.layout != "cluster":
            return self._address
        self._tries += 1
        place = self._address.places[self._tries % len(self._address.places)]
        return self._address._replace(layout="server", places=(place,))

    async def _send_forever(self, client: Any, retry: StoreRetry) -> None:
        while True:
            self._changed.clear()
            if self._is_pending:
                await self._send(client)
                retry.succeeded()
            else:
                await self._changed.wait()

    async def _send(self, client: Any) -> None:
        self._is_pending = False
        try:
            await run_cancellable(client.execute_command("PUBLISH", self._channel, self._sender_id))
        except BaseException:
            self._is_pending = True
            raise
        if not self._is_pending:
            self._sent.set()

    async def _listen_forever(self, client: Any, retry: StoreRetry) -> None:
        subscription = client.pubsub()
        try:
            await run_cancellable(subscription.subscribe(self._channel))
            while True:
                message = await subscription.get_message(timeout=_KEEPALIVE_SECONDS)
                if message is None:
                    await run_cancellable(subscription.ping())
                    message = await subscription.get_message(timeout=_ANSWER_SECONDS)
                    if message is None:
                        raise TimeoutError("the server no longer answers")
                retry.succeeded()
                # Notifications from before SUBSCRIBE were lost: its confirmation wakes the listener once.
                if message["type"] == "subscribe" or (
                    message["type"] == "message" and message["data"] != self._sender_id
                ):
                    self._wake()
        finally:
            with contextlib.suppress(Exception):
                await subscription.aclose()

    def _wake(self) -> None:
        if self._on_wakeup is not None:
            self._on_wakeup()
