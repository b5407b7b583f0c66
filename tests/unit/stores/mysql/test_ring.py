"""Wake-up between processes on MariaDB: heard within milliseconds, not by the ringer itself, and again after a lost connection."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae import Horae
from horae.clock import SystemClock
from horae.runtime import make_wakeup
from horae.stores.mysql import wakeup as ring_module
from horae.stores.mysql.wakeup import MySQLNotifier
from tests.servers.mariadb import MariaDBServer

PATIENCE: Final = 60
ROOT: Final = Path(__file__).parents[4]


class Listener:
    def __init__(self, url: str) -> None:
        self.ring = MySQLNotifier(url, SystemClock())
        self.heard = 0
        self._news = asyncio.Event()

    def _hear(self) -> None:
        self.heard += 1
        self._news.set()

    async def listening(self) -> None:
        """From its first look on it hears."""
        self.ring.listen(self._hear)
        await self.next()

    async def next(self) -> None:
        await asyncio.wait_for(self._news.wait(), PATIENCE)
        self._news.clear()


@asynccontextmanager
async def listener(url: str) -> AsyncIterator[Listener]:
    made = Listener(url)
    await made.listening()
    try:
        yield made
    finally:
        made.ring.close()
        await made.ring.finish()


async def _every_other_process_hears(url: str) -> None:
    async with listener(url) as one, listener(url) as two:
        one.ring.notify()
        await two.next()
        assert one.heard == 1, "a ring is not for the ringer"
        two.ring.notify()
        await one.next()


async def test_every_other_process_hears_a_ring(mariadb_url: str) -> None:
    await _every_other_process_hears(mariadb_url)


async def _another_store_hears_nothing(url: str) -> None:
    separator = "&" if "?" in url else "?"
    async with listener(url) as mine, listener(f"{url}{separator}prefix=other_") as other:
        ringer = MySQLNotifier(url, SystemClock())
        ringer.notify()
        await mine.next()
        await ringer.finish()
        assert other.heard == 1


async def test_another_store_on_the_same_server_hears_nothing(mariadb_url: str) -> None:
    await _another_store_hears_nothing(mariadb_url)


async def _killed_connection_is_replaced(url: str, server: MariaDBServer) -> None:
    async with listener(url) as mine:
        server.ask(f"KILL {mine.ring._listener}")
        await mine.next()
        ringer = MySQLNotifier(url, SystemClock())
        ringer.notify()
        await mine.next()
        await ringer.finish()


async def test_a_lost_connection_is_replaced_and_hears_again(
    mariadb_url: str, mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ring_module, "_RECONNECT_SECONDS", 0.05)
    await _killed_connection_is_replaced(mariadb_url, mariadb_server)


async def _proxied_ring_is_off(url: str) -> None:
    ring = MySQLNotifier(url, SystemClock())
    ring.listen(lambda: None)
    assert ring._listen_task is not None
    await asyncio.wait_for(ring._listen_task, PATIENCE)
    ring.notify()
    assert ring._notify_task is None
    await ring.finish()


async def test_behind_a_proxy_nothing_is_killed(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def another_id(connection: Any, text: str) -> tuple[Any, ...]:
        del connection, text
        return (-1,)

    monkeypatch.setattr(ring_module, "fetch_row", another_id)
    await _proxied_ring_is_off(mariadb_url)


async def _task_of_another_process(url: str) -> None:
    """Looks and renewals of the lease are minutes apart here: only the ring can be what starts the task."""
    app, started = Horae(url, zone="UTC"), asyncio.Event()
    terms = app.settings.terms._replace(lease=timedelta(minutes=30))
    app.settings = replace(app.settings, poll_interval=timedelta(minutes=10), terms=terms)

    @app.task(name="woken")
    def woken() -> None:
        loop.call_soon_threadsafe(started.set)

    loop = asyncio.get_running_loop()
    async with app:
        command = [sys.executable, "-m", "horae", "add", "now", "--function", "woken", "--store", url]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=PATIENCE, cwd=ROOT, capture_output=True)
        await asyncio.wait_for(started.wait(), PATIENCE)


async def test_a_task_that_another_process_adds_starts_without_a_look(mariadb_url: str) -> None:
    await _task_of_another_process(mariadb_url)


def test_polling_has_no_ring_and_precise_has_one(mariadb_url: str) -> None:
    assert isinstance(make_wakeup(mariadb_url, precise=True), MySQLNotifier)
    assert not isinstance(make_wakeup(mariadb_url, precise=False), MySQLNotifier)
