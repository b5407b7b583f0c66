"""Pool of MariaDB databases for tests: wiping one takes a tenth of the time of creating one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from asyncmy.errors import OperationalError

from horae.clock import SystemClock
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.address import Address
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from tests.servers.mariadb import MariaDBServer

_OTHERS: Final = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
_NO_SUCH_THREAD: Final = 1094
_KEPT: Final = frozenset({"horae_migrations", "horae_numbering", "horae_counter_lock"})


class DatabasePool:
    """URLs of databases on one server. Each is used by one test at a time, and wiped before the next use."""

    def __init__(self, server: MariaDBServer) -> None:
        self._server = server
        self._free: list[str] = []

    async def take(self) -> str:
        if not self._free:
            return self._server.new_database()
        url = self._free.pop()
        await _wipe(url)
        return url

    def give_back(self, url: str) -> None:
        self._free.append(url)

    @asynccontextmanager
    async def empty(self) -> AsyncIterator[str]:
        """Yield an empty database. After a failed test it is not reused, so that it can be inspected."""
        url = await self.take()
        yield url
        self.give_back(url)


async def _wipe(url: str) -> None:
    connection = await MySQLConnectionFactory(Address.parse(url), SystemClock()).open_raw()
    try:
        async with connection.cursor() as cursor:
            await _end_others(cursor)
            await cursor.execute("SHOW TABLES")
            names = {name for (name,) in await cursor.fetchall()} - _KEPT
            wipes = [f"DELETE FROM {name}" for name in sorted(names)]  # noqa: S608 - our own tables
            orders = ["START TRANSACTION", *wipes, "UPDATE horae_numbering SET last = 0", "COMMIT"]
            await cursor.execute("; ".join(orders))
    finally:
        await connection.ensure_closed()


async def _end_others(cursor: Any) -> None:
    """End connections that a test has cut off: the server may still execute their last statement and commit it."""
    clock = SystemClock()
    while True:
        await cursor.execute(_OTHERS)
        others = await cursor.fetchall()
        if not others:
            return
        for (other,) in others:
            try:
                await cursor.execute(f"KILL {other}")
            except OperationalError as error:
                if error.args[0] != _NO_SUCH_THREAD:
                    raise
        await clock.pause(0.01)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[MySQLStore]:
    store = MySQLStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
