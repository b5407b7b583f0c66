"""Wakeup between processes on MariaDB: received within milliseconds, not by the sender, and after a reconnect."""

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

TIMEOUT_SECONDS: Final = 60
ROOT: Final = Path(__file__).parents[4]


class Listener:
    def __init__(self, url: str) -> None:
        self.notifier = MySQLNotifier(url, SystemClock())
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
        await asyncio.wait_for(self._called.wait(), TIMEOUT_SECONDS)
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


async def _notifies_every_other_process(url: str) -> None:
    async with listener(url) as one, listener(url) as two:
        one.notifier.notify()
        await two.next()
        assert one.calls == 1, "the sender is not notified"
        two.notifier.notify()
        await one.next()


async def test_notification_reaches_every_other_process(mariadb_url: str) -> None:
    await _notifies_every_other_process(mariadb_url)


async def _does_not_notify_another_store(url: str) -> None:
    separator = "&" if "?" in url else "?"
    async with listener(url) as mine, listener(f"{url}{separator}prefix=other_") as other:
        ringer = MySQLNotifier(url, SystemClock())
        ringer.notify()
        await mine.next()
        await ringer.finish()
        assert other.calls == 1


async def test_notification_does_not_reach_another_store(mariadb_url: str) -> None:
    await _does_not_notify_another_store(mariadb_url)


async def _killed_connection_is_replaced(url: str, server: MariaDBServer) -> None:
    async with listener(url) as mine:
        server.ask(f"KILL {mine.notifier._listener}")
        await mine.next()
        ringer = MySQLNotifier(url, SystemClock())
        ringer.notify()
        await mine.next()
        await ringer.finish()


async def test_lost_connection_is_replaced(
    mariadb_url: str, mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ring_module, "_RECONNECT_SECONDS", 0.05)
    await _killed_connection_is_replaced(mariadb_url, mariadb_server)


async def _is_off_behind_a_proxy(url: str) -> None:
    notifier = MySQLNotifier(url, SystemClock())
    notifier.listen(lambda: None)
    assert notifier._listen_task is not None
    await asyncio.wait_for(notifier._listen_task, TIMEOUT_SECONDS)
    notifier.notify()
    assert notifier._notify_task is None
    await notifier.finish()


async def test_notifier_is_off_behind_a_proxy(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def another_id(connection: Any, text: str) -> tuple[Any, ...]:
        del connection, text
        return (-1,)

    monkeypatch.setattr(ring_module, "fetch_row", another_id)
    await _is_off_behind_a_proxy(mariadb_url)


async def _task_of_another_process(url: str) -> None:
    """Polls and renewals are minutes apart here: only the notification can start the task."""
    app, started = Horae(url, zone="UTC"), asyncio.Event()
    terms = app.settings.terms._replace(lease=timedelta(minutes=30))
    app.settings = replace(app.settings, poll_interval=timedelta(minutes=10), terms=terms)

    @app.task(name="woken")
    def woken() -> None:
        loop.call_soon_threadsafe(started.set)

    loop = asyncio.get_running_loop()
    async with app:
        command = [sys.executable, "-m", "horae", "add", "now", "--function", "woken", "--store", url]
        await asyncio.to_thread(
            subprocess.run, command, check=True, timeout=TIMEOUT_SECONDS, cwd=ROOT, capture_output=True
        )
        await asyncio.wait_for(started.wait(), TIMEOUT_SECONDS)


async def test_task_of_another_process_starts_without_a_poll(mariadb_url: str) -> None:
    await _task_of_another_process(mariadb_url)


def test_only_precise_wakeup_uses_the_notifier(mariadb_url: str) -> None:
    assert isinstance(make_wakeup(mariadb_url, precise=True), MySQLNotifier)
    assert not isinstance(make_wakeup(mariadb_url, precise=False), MySQLNotifier)
