"""Cost of durability alone: one row, one transaction, by asyncpg, with the settings of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import asyncpg

from bench.engine import work


class BareCommits:
    """The floor under everything that is durable on this server."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def block(self, count: int, pause: float = 0.0) -> list[float]:
        """Seconds for each commit: one right after the other, or with a pause before each, as tasks come."""
        seen = []
        for _ in range(count):
            if pause:
                await work.pass_time(pause)
            started = perf_counter()
            await self._connection.execute("INSERT INTO line (text) VALUES ($1)", "one row")
            seen.append(perf_counter() - started)
        return seen


@asynccontextmanager
async def bare_commits(url: str) -> AsyncIterator[BareCommits]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE TABLE line (number bigserial PRIMARY KEY, text text)")
        yield BareCommits(connection)
    finally:
        await connection.close()
