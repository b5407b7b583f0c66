"""LISTEN/NOTIFY wakeup: reaches other processes at once, not the sender, and reconnects."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from horae.clock import SystemClock
from horae.stores.postgres import notify as notify_module
from horae.stores.postgres.notify import PostgresNotifier
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.unit.stores.postgres.store_setup import TIMEOUT_SECONDS

NOTIFY_ONCE: Final = """
import asyncio, sys
from horae.clock import SystemClock
from horae.stores.postgres.notify import PostgresNotifier
async def main():
    notifier = PostgresNotifier(sys.argv[1], SystemClock())
    notifier.notify()
    await notifier.finish()
asyncio.run(main())
"""
ROOT: Final = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def _reconnect_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_module, "_RECONNECT_SECONDS", 0.05)


class Listener:
    """Counts notifications, and waits for the next one."""

    def __init__(self, url: str) -> None:
        self.notifier = PostgresNotifier(url, SystemClock())
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


async def test_finish_sends_the_notification_before_the_process_ends(postgres_server: PostgresServer) -> None:
    async with listener(postgres_server.url) as mine:
        command = [sys.executable, "-c", NOTIFY_ONCE, postgres_server.url]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=TIMEOUT_SECONDS, cwd=ROOT)
        await mine.next()
        assert mine.calls == 2


async def test_new_listener_is_called_once(
    postgres_server: PostgresServer,
) -> None:
    async with listener(postgres_server.url) as mine:
        assert mine.calls == 1


async def test_notification_reaches_neither_its_sender_nor_another_schema(postgres_server: PostgresServer) -> None:
    url = postgres_server.url
    async with listener(url) as mine, listener(url) as other, listener(f"{url}?schema=elsewhere") as stranger:
        mine.notifier.notify()
        await other.next()
        other.notifier.notify()
        await mine.next()
        assert (mine.calls, other.calls, stranger.calls) == (2, 2, 1)


async def test_burst_and_its_last_notification_are_received(postgres_server: PostgresServer) -> None:
    async with listener(postgres_server.url) as mine, listener(postgres_server.url) as other:
        for _ in range(100):
            mine.notifier.notify()
        await other.next()
        mine.notifier.notify()
        await other.next()
        assert 3 <= other.calls <= 102


async def test_lost_connection_is_replaced_and_the_listener_called_once(postgres_server: PostgresServer) -> None:
    with Proxy(postgres_server.port) as proxy:
        async with listener(proxy.through(postgres_server.url)) as mine, listener(postgres_server.url) as other:
            proxy.cut()
            other.notifier.notify()
            proxy.heal()
            await mine.next()
            other.notifier.notify()
            await mine.next()
            assert mine.calls == 3


async def test_half_open_connection_is_detected(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without keepalive queries nothing would reveal that the connection is dead."""
    monkeypatch.setattr(notify_module, "_KEEPALIVE_SECONDS", 0.1)
    monkeypatch.setattr(notify_module, "_KEEPALIVE_TIMEOUT", 0.1)

    with Proxy(postgres_server.port) as proxy:
        async with listener(proxy.through(postgres_server.url)) as mine:
            proxy.half_open()
            first = mine.notifier._worker
            proxies = proxy.connections
            while proxy.connections == proxies:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            proxy.heal()
            await mine.next()
            assert mine.notifier._worker is first
            assert mine.calls == 2


async def test_session_ended_by_the_server_is_reopened(postgres_server: PostgresServer) -> None:
    admin = await asyncpg.connect(postgres_server.url)
    async with listener(postgres_server.url) as mine, listener(postgres_server.url) as other:
        for _ in range(2):
            await admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'horae'")
            await mine.next()
            await other.next()
        other.notifier.notify()
        await mine.next()
    admin.terminate()


async def test_notify_during_an_outage_neither_blocks_nor_fails() -> None:
    with PostgresServer() as server:
        notifier = PostgresNotifier(server.url, SystemClock())
        server.kill()
        notifier.notify()
        await notifier.finish()
        # The notification was dropped, and finish() did not wait for the server.
        server.start()
        async with listener(server.url) as mine:
            server.kill()
            mine.notifier.notify()
            server.start()
            await mine.next()
            async with listener(server.url) as other:
                mine.notifier.notify()
                await other.next()


async def test_closed_listener_receives_nothing(postgres_server: PostgresServer) -> None:
    async with (
        listener(postgres_server.url) as mine,
        listener(postgres_server.url) as other,
        listener(postgres_server.url) as third,
    ):
        mine.notifier.close()
        other.notifier.notify()
        await third.next()
        assert mine.calls == 1


async def test_notification_passes_a_pooler_by_the_direct_address(postgres_server: PostgresServer) -> None:
    with PgBouncer(postgres_server) as pooler:
        url = f"{pooler.through(postgres_server.url)}?statement_cache=0&direct={postgres_server.url}"
        async with listener(url) as mine, listener(url) as other:
            mine.notifier.notify()
            await other.next()
            assert (mine.calls, other.calls) == (1, 2)
