"""Stores of these tests: each under its own table prefix, which costs less than a database."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from horae.clock import SystemClock
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.connection import MySQLConnection
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from horae.stores.mysql.server_version import fetch_row
from tests.servers.mariadb import MariaDBServer

TIMEOUT_SECONDS: Final = 60
"""A call that hangs fails after this time; tests measure nothing with it."""
_DATABASE: Final = "prefixes"


def new_prefix(server: MariaDBServer, **more: str | int) -> str:
    """Return the address of a store that does not exist yet."""
    server.ask(f"CREATE DATABASE IF NOT EXISTS {_DATABASE}")
    options = "".join(f"&{name}={value}" for name, value in more.items())
    return f"{server.url_of(_DATABASE)}?prefix=t{secrets.token_hex(6)}_{options}"


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[MySQLStore]:
    store = MySQLStore(url)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def open_connection(
    store: MySQLStore, idle: int = 10, packet: int = 16_000_000
) -> AsyncIterator[MySQLConnection]:
    """Open a connection like those of the store."""
    factory = MySQLConnectionFactory(store.address, SystemClock())
    connection = await factory.open_raw()
    link = MySQLConnection(connection, factory._statements, packet, idle)
    try:
        yield link
    finally:
        link.abandon()


async def fetch_one(store: MySQLStore, text: str) -> tuple[Any, ...]:
    """Run a query without the store and return its first row; `@` stands for the table prefix."""
    connection = await MySQLConnectionFactory(store.address, SystemClock()).open_raw()
    try:
        return await fetch_row(connection, text.replace("@", store.address.prefix))
    finally:
        connection.close()


async def has_blocked_session(store: MySQLStore) -> bool:
    """Return whether a session waits for a row lock of another."""
    return await fetch_one(
        store, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    ) > (0,)
