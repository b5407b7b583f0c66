"""The ring: others hear it at once, oneself does not, and a connection that is lost is replaced."""

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
from horae.stores.postgres import notify as ring_module
from horae.stores.postgres.notify import PostgresNotifier
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.unit.stores.postgres.opening import PATIENCE

RING_ONCE: Final = """
import asyncio, sys
from horae.clock import SystemClock
from horae.stores.postgres.notify import PostgresNotifier
async def main():
    ring = PostgresNotifier(sys.argv[1], SystemClock())
    ring.notify()
    await ring.finish()
asyncio.run(main())
"""
ROOT: Final = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_module, "_RECONNECT_SECONDS", 0.05)


class Ear:
    """Counts what was heard, and can be waited for."""

    def __init__(self, url: str) -> None:
        self.ring = PostgresNotifier(url, SystemClock())
        self.heard = 0
        self._news = asyncio.Event()

    def _hear(self) -> None:
        self.heard += 1
        self._news.set()

    async def listening(self) -> None:
        """From the first look on it hears."""
        self.ring.listen(self._hear)
        await self.next()

    async def next(self) -> None:
        await self._news.wait()
        self._news.clear()


@asynccontextmanager
async def ear(url: str) -> AsyncIterator[Ear]:
    made = Ear(url)
    await made.listening()
    try:
        yield made
    finally:
        made.ring.close()
        await made.ring.finish()


async def test_another_process_is_heard_and_has_rung_before_it_ends(postgres_server: PostgresServer) -> None:
    async with ear(postgres_server.url) as mine:
        command = [sys.executable, "-c", RING_ONCE, postgres_server.url]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=PATIENCE, cwd=ROOT)
        await mine.next()
        assert mine.heard == 2


async def test_whoever_begins_to_listen_looks_once_because_it_was_deaf_until_then(
    postgres_server: PostgresServer,
) -> None:
    async with ear(postgres_server.url) as mine:
        assert mine.heard == 1


async def test_nobody_hears_itself_and_nobody_hears_another_schema(postgres_server: PostgresServer) -> None:
    url = postgres_server.url
    async with ear(url) as mine, ear(url) as other, ear(f"{url}?schema=elsewhere") as stranger:
        mine.ring.notify()
        await other.next()
        other.ring.notify()
        await mine.next()
        assert (mine.heard, other.heard, stranger.heard) == (2, 2, 1)


async def test_a_burst_is_heard_and_the_last_of_it_too(postgres_server: PostgresServer) -> None:
    async with ear(postgres_server.url) as mine, ear(postgres_server.url) as other:
        for _ in range(100):
            mine.ring.notify()
        await other.next()
        mine.ring.notify()
        await other.next()
        assert 3 <= other.heard <= 102


async def test_a_lost_connection_is_replaced_and_it_is_looked_once(postgres_server: PostgresServer) -> None:
    with Proxy(postgres_server.port) as proxy:
        async with ear(proxy.through(postgres_server.url)) as mine, ear(postgres_server.url) as other:
            proxy.cut()
            other.ring.notify()
            proxy.heal()
            await mine.next()
            other.ring.notify()
            await mine.next()
            assert mine.heard == 3


async def test_a_connection_that_went_silent_is_found_out(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells that nothing will be heard any more."""
    monkeypatch.setattr(ring_module, "_KEEPALIVE_SECONDS", 0.1)
    monkeypatch.setattr(ring_module, "_KEEPALIVE_TIMEOUT", 0.1)

    with Proxy(postgres_server.port) as proxy:
        async with ear(proxy.through(postgres_server.url)) as mine:
            proxy.half_open()
            first = mine.ring._worker
            proxies = proxy.connections
            while proxy.connections == proxies:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            proxy.heal()
            await mine.next()
            assert mine.ring._worker is first
            assert mine.heard == 2


async def test_a_session_that_the_server_ends_is_begun_again(postgres_server: PostgresServer) -> None:
    admin = await asyncpg.connect(postgres_server.url)
    async with ear(postgres_server.url) as mine, ear(postgres_server.url) as other:
        for _ in range(2):
            await admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'horae'")
            await mine.next()
            await other.next()
        other.ring.notify()
        await mine.next()
    admin.terminate()


async def test_ringing_while_the_server_is_away_neither_blocks_nor_fails() -> None:
    with PostgresServer() as server:
        bell = PostgresNotifier(server.url, SystemClock())
        server.kill()
        bell.notify()
        await bell.finish()
        # Nobody was there to be told, and nobody waited for them longer than is decent.
        server.start()
        async with ear(server.url) as mine:
            server.kill()
            mine.ring.notify()
            server.start()
            await mine.next()
            async with ear(server.url) as other:
                mine.ring.notify()
                await other.next()


async def test_whoever_does_not_listen_any_more_hears_nothing(postgres_server: PostgresServer) -> None:
    async with (
        ear(postgres_server.url) as mine,
        ear(postgres_server.url) as other,
        ear(postgres_server.url) as third,
    ):
        mine.ring.close()
        other.ring.notify()
        await third.next()
        assert mine.heard == 1


async def test_it_is_heard_past_a_pooler(postgres_server: PostgresServer) -> None:
    with PgBouncer(postgres_server) as pooler:
        url = f"{pooler.through(postgres_server.url)}?statement_cache=0&direct={postgres_server.url}"
        async with ear(url) as mine, ear(url) as other:
            mine.ring.notify()
            await other.next()
            assert (mine.heard, other.heard) == (1, 2)
