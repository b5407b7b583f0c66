"""A place in MariaDB that is empty for every test: made once, wiped each time, which takes a tenth of making it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from horae.clock import SystemClock
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.address import Address
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from tests.servers.mariadb import MariaDBServer

_KEPT: Final = frozenset({"horae_migrations", "horae_numbering", "horae_counter_lock"})


class Places:
    """Addresses on one server. Each is used by one test at a time, and wiped before the next one has it."""

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
        """One whose test failed is not used again: somebody may want to look at it."""
        url = await self.take()
        yield url
        self.give_back(url)


async def _wipe(url: str) -> None:
    connection = await MySQLConnectionFactory(Address.parse(url), SystemClock()).open_raw()
    try:
        async with connection.cursor() as cursor:
            await cursor.execute("SHOW TABLES")
            names = {name for (name,) in await cursor.fetchall()} - _KEPT
            wipes = [f"DELETE FROM {name}" for name in sorted(names)]  # noqa: S608 - our own tables
            orders = ["START TRANSACTION", *wipes, "UPDATE horae_numbering SET last = 0", "COMMIT"]
            await cursor.execute("; ".join(orders))
    finally:
        await connection.ensure_closed()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[MySQLStore]:
    store = MySQLStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
