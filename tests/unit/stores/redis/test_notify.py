"""Wake-up by PUBLISH and SUBSCRIBE: reaches other processes at once, not the sender, and reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.clock import SystemClock
from horae.stores.redis.connections import notify as notify_module
from horae.stores.redis.connections.notify import RedisNotifier
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer


@pytest.fixture(autouse=True)
def _reconnect_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_module, "_RECONNECT_SECONDS", 0.05)


class Listener:
    """Counts notifications, and waits for the next one."""

    def __init__(self, url: str) -> None:
        self.notifier = RedisNotifier(url, SystemClock())
        self.calls = 0
        self._called = asyncio.Event()

    def _on_notify(self) -> None:
        self.calls += 1
        self._called.set()

    async def start(self) -> None:
        """Listen, and wait for the first call, which means that the listener is connected."""
        self.notifier.listen(self._on_notify)
        await self.next()

    async def next(self) -> None:
        await self._called.wait()
        self._called.clear()


@asynccontextmanager
async def listener(url: str) -> AsyncIterator[Listener]:
    made = Listener(url)
    await made.start()
    try:
        yield made
    finally:
        made.notifier.close()
        await made.notifier.finish()


async def test_others_are_woken_and_the_sender_is_not(redis_url: str) -> None:
    async with listener(redis_url) as mine, listener(redis_url) as other:
        mine.notifier.notify()
        await other.next()
        other.notifier.notify()
        await mine.next()
        assert (mine.calls, other.calls) == (2, 2)


async def test_other_deployments_on_the_server_are_not_woken(redis_server: RedisServer) -> None:
    first, second = redis_server.new_database(), redis_server.new_database()
    async with listener(first) as mine, listener(f"{first}?prefix=other") as foreign, listener(second) as apart:
        sender = RedisNotifier(first, SystemClock())
        sender.notify()
        await sender.finish()
        await mine.next()
        assert (foreign.calls, apart.calls) == (1, 1)


async def test_a_listener_that_was_cut_off_is_woken_when_it_is_back(redis_server: RedisServer) -> None:
    with Proxy(redis_server.port) as proxy:
        async with listener(proxy.through(redis_server.url)) as mine:
            proxy.cut()
            proxy.heal()
            await mine.next()
            sender = RedisNotifier(redis_server.url, SystemClock())
            sender.notify()
            await sender.finish()
            await mine.next()


async def test_finish_without_a_server_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_module, "_FLUSH_SECONDS", 0.05)
    notifier = RedisNotifier("redis://127.0.0.1:1/0", SystemClock())
    notifier.notify()
    await notifier.finish()
    await notifier.finish()
