"""Stores of these tests: each in its own schema, which costs less than a database."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import asyncpg
import pytest

from horae.stores.postgres import PostgresStore
from horae.stores.postgres.connection import DIALECT
from tests.servers.postgres import PostgresServer

TIMEOUT_SECONDS: Final = 60
"""A call that hangs fails after this time; tests measure nothing with it."""
Connection: TypeAlias = "asyncpg.Connection[Any]"


def new_schema(server: PostgresServer, **more: str | int) -> str:
    """Return the address of a store that does not exist yet."""
    options = "".join(f"&{name}={value}" for name, value in more.items())
    return f"{server.url}?schema=test_{secrets.token_hex(6)}{options}"


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
async def open_unhurried_store(url: str) -> AsyncIterator[PostgresStore]:
    """Open a store whose claims decide a whole slice, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("horae.stores.postgres.store.DIALECT", DIALECT._replace(max_decide_seconds=60.0))
        async with open_store(url) as store:
            yield store


@asynccontextmanager
async def open_connection(store: PostgresStore) -> AsyncIterator[Connection]:
    """Open a connection to the store's schema without the store."""
    connection = await asyncpg.connect(
        store.address.servers.dsns[0], server_settings={"search_path": store.address.schema}
    )
    try:
        yield connection
    finally:
        connection.terminate()


async def count_blocked(connection: Connection) -> int:
    """Count the sessions of the store that wait for a lock of another session."""
    # Inside a transaction the statistics would stay those of the first read.
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found: int = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'horae' AND datname = current_database() AND wait_event_type = 'Lock'"
    )
    return found
