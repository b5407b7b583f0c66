"""How these tests open stores: each in a schema of its own, which costs less than a database."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import asyncpg

from horae.stores.postgres import PostgresStore
from tests.servers.postgres import PostgresServer

TIMEOUT_SECONDS: Final = 60
"""What hangs ends with an error; nothing is measured by this."""
Connection: TypeAlias = "asyncpg.Connection[Any]"


def new_schema(server: PostgresServer, **more: str | int) -> str:
    """The address of a store that is not there yet."""
    said = "".join(f"&{name}={value}" for name, value in more.items())
    return f"{server.url}?schema=test_{secrets.token_hex(6)}{said}"


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def open_connection(store: PostgresStore) -> AsyncIterator[Connection]:
    """By its own way, past the store."""
    connection = await asyncpg.connect(store.address.dsn, server_settings={"search_path": store.address.schema})
    try:
        yield connection
    finally:
        connection.terminate()


async def wait_until(holds: Callable[[], Awaitable[object]]) -> None:
    """Ask until it is so; whoever waits for something that never comes ends with the patience of the test."""
    while not await holds():
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)


async def count_blocked(connection: Connection) -> int:
    """How many sessions of ours stand before a lock that another one holds."""
    # Within a transaction, what was seen once would be seen for ever.
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found: int = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'horae' AND datname = current_database() AND wait_event_type = 'Lock'"
    )
    return found
