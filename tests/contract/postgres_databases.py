"""Pool of PostgreSQL databases for tests: wiping one takes a tenth of the time of creating one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from horae.stores.postgres import PostgresStore
from tests.servers.postgres import PostgresServer

_WIPE: Final = """
DO $$
DECLARE each record;
BEGIN
  FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'horae' AND tablename <> 'migrations' LOOP
    EXECUTE format('DELETE FROM horae.%I', each.tablename);
  END LOOP;
  INSERT INTO horae.numbering (shift, last) VALUES (0, 0);
  PERFORM setval('horae.tokens', 1, false), setval('horae.task_numbers', 1, false);
END $$
"""
_END_OTHERS: Final = """
SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
"""The second argument: milliseconds to wait until the other has ended."""


class DatabasePool:
    """URLs of databases on one server. Each is used by one test at a time, and wiped before the next use."""

    def __init__(self, server: PostgresServer) -> None:
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
    connection = await asyncpg.connect(url)
    try:
        # The server may still execute the last statement of a connection that a test has cut off, and commit it.
        await connection.execute(_END_OTHERS, timeout=60)
        await connection.execute(_WIPE)
    finally:
        await connection.close()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
