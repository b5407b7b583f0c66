"""How these tests open stores: each under a prefix of its own, which costs less than a database."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from horae.clock import SystemClock
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.connection import MySQLConnection
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from horae.stores.mysql.server_version import fetch_row
from tests.servers.mariadb import MariaDBServer

PATIENCE: Final = 60
"""What hangs ends with an error; nothing is measured by this."""
_DATABASE: Final = "prefixes"


def new_prefix(server: MariaDBServer, **more: str | int) -> str:
    """The address of a store that is not there yet."""
    server.ask(f"CREATE DATABASE IF NOT EXISTS {_DATABASE}")
    said = "".join(f"&{name}={value}" for name, value in more.items())
    return f"{server.url_of(_DATABASE)}?prefix=t{secrets.token_hex(6)}_{said}"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[MySQLStore]:
    store = MySQLStore(url)
    async with asyncio.timeout(PATIENCE):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def linked(store: MySQLStore, idle: int = 10, packet: int = 16_000_000) -> AsyncIterator[MySQLConnection]:
    """A connection such as the store has, for this test alone."""
    door = MySQLConnectionFactory(store.address, SystemClock())
    connection = await door.open_raw()
    link = MySQLConnection(connection, door._statements, packet, idle)
    try:
        yield link
    finally:
        link.abandon()


async def asked(store: MySQLStore, text: str) -> tuple[Any, ...]:
    """Past the store; `@tasks` is the store's own table."""
    connection = await MySQLConnectionFactory(store.address, SystemClock()).open_raw()
    try:
        return await fetch_row(connection, text.replace("@", store.address.prefix))
    finally:
        connection.close()


async def waiting_for_locks(store: MySQLStore) -> bool:
    """Whether some session stands before a row that another one holds."""
    return await asked(store, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'") > (0,)


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Ask until it is so; whoever waits for something that never comes ends with the patience of the test."""
    while not await holds():
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
