"""A PostgreSQL database with many runs of every task: the tasks of the scale benchmark, and their runs many times over."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import asyncpg

from bench.scale.filling import BULK_SETTINGS, grow, without_indexes

_HOUR: Final = 3_600_000_000
# Each copy lies whole hours before its model.
_COPY: Final = """
INSERT INTO runs SELECT 'run_' || lpad(to_hex((planned - $1) / 1000), 12, '0') || left(md5(id || $1::text), 20), task, owner,
  origin, planned - $1, due - $1, attempt, state, reason, token, node, claimed - $1, started - $1, ended - $1, deadline,
  span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error, stray
FROM runs WHERE id = ANY(SELECT id FROM models)
"""
_COUNTS: Final = """
INSERT INTO counter_deltas SELECT owner, ended / 3600000000, 'run:' || state, count(*) FROM runs
WHERE ended > (SELECT max(ended) FROM runs) - 90000000000 AND NOT id = ANY(SELECT id FROM models) GROUP BY 1, 2, 3
"""


def fill_postgres(url: str, tasks: int, runs_each: int) -> int:
    """Fill a new database; returns the number of runs."""
    grow(url, tasks)
    return asyncio.run(_multiply(url, runs_each))


async def _multiply(url: str, runs_each: int) -> int:
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url, server_settings=BULK_SETTINGS)
    try:
        await connection.execute("CREATE TEMPORARY TABLE models AS SELECT id FROM runs WHERE ended IS NOT NULL")
        await connection.execute("CREATE INDEX ON models (id)")
        tasks: int = await connection.fetchval("SELECT count(*) FROM tasks")
        async with connection.transaction(), without_indexes(connection, tasks * runs_each):
            for number in range(1, runs_each):
                await connection.execute(_COPY, number * _HOUR)
            await connection.execute(_COUNTS)
        await connection.execute("VACUUM ANALYZE")
        total: int = await connection.fetchval("SELECT count(*) FROM runs")
        return total
    finally:
        await connection.close()
