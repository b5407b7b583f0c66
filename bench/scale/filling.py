"""A database as a day of work would have left it: the rows of three tasks, as the store wrote them, many times over.

Every row differs from its model only in what makes it another one: its number, names, owner, labels, and its instants,
all of which are moved by the same stretch of time. They come due in an order that has nothing to do with that in which they
were added: the worst case for a lookup of the next one, which finds each on another page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from shutil import disk_usage
from tempfile import gettempdir
from time import perf_counter
from typing import Any, Final

import asyncpg

from bench.engine import work
from bench.lists.filling import LARGE_OWNER, RARE_LABEL, RARE_TEXT, SMALL_OWNER
from bench.scale.models import ACTIVE, DAY, FAILED, PAUSED, write_models
from horae.model.ids import EPOCH
from horae.stores.postgres import PostgresStore

_BYTES_EACH: Final = 3_500
"""On the disk, for one task with its run and its indexes, twice; that much is logged and sorted on the way there."""
_AHEAD: Final = timedelta(hours=2)
"""Nothing of what is filled in comes due sooner: there is time to measure."""
_OWNERS: Final = 10_000
_RARE: Final = 10
_FEW: Final = 50_000
"""Below this, rows are entered into the indexes one by one."""
BULK_SETTINGS: Final = {
    "synchronous_commit": "off",
    "maintenance_work_mem": "1GB",
    "work_mem": "256MB",
    "search_path": "horae",
}

_MODEL: Final = f"CASE number % 100 WHEN 1 THEN {FAILED} WHEN 2 THEN {PAUSED} WHEN 3 THEN {PAUSED} ELSE {ACTIVE} END"
# Microseconds, different for every number, over twenty hours: with what is ahead, less than a day.
_MOVED: Final = "(number * 2654435761 % 4294967296) * 16763 / 1000"
_OWNER: Final = f"""
CASE WHEN number % 500 = 1 AND number <= {500 * 2 * _RARE} THEN '{SMALL_OWNER}' ELSE
  CASE number % 4 WHEN 2 THEN 'local' WHEN 3 THEN 'user:' || number % {_OWNERS} ELSE '{LARGE_OWNER}' END
END
"""
_IS_RARE: Final = f"number % 1000 = 1 AND number <= {1000 * _RARE}"
_NAME: Final = f"""
(ARRAY['send', 'fetch', 'check', 'clean'])[number % 4 + 1] || ' ' || CASE WHEN {_IS_RARE} THEN '{RARE_TEXT}'
  ELSE (ARRAY['report', 'invoices', 'backups', 'feeds'])[number / 4 % 4 + 1] END
  || ' ' || lpad(number::text, greatest(6, length(number::text)), '0')
"""
_LABELS: Final = f"""
replace(labels, '["team","0"]', '["team","' || number % 10 || '"]' ||
  CASE WHEN {_IS_RARE} THEN ',["{RARE_LABEL[0]}","{RARE_LABEL[1]}"]' ELSE '' END)
"""
_NUMBERS: Final = "generate_series($1::bigint, $2::bigint) AS number"
_STATEMENTS: Final = (
    f"""
INSERT INTO tasks SELECT number, 'tsk_' || lpad(to_hex((created + {_MOVED}) / 1000), 12, '0') || left(md5(number::text), 20),
  {_OWNER}, {_NAME}, schedule, target_kind, target_spec, payload, policies, created + {_MOVED}, key, lane, {_LABELS}, version
FROM {_NUMBERS} JOIN tasks ON seq = {_MODEL}
""",  # noqa: S608 - no user input
    f"""
INSERT INTO task_state SELECT number, version, state, counted, failures, skips_left, last_end + {_MOVED}, last_result,
  paused_since + {_MOVED}, pause_cause, pause_note, pause_until, reason, ended + {_MOVED}
FROM {_NUMBERS} JOIN task_state ON task = {_MODEL}
""",  # noqa: S608 - no user input
    f"""
INSERT INTO agenda SELECT number, slot, kind, due + {_MOVED}, planned + {_MOVED}, {_OWNER}, priority, state, origin, attempt,
  forgiven, deaths, through, span_first, span_last, span_count, waited, in_order, lane, run_id
FROM {_NUMBERS} JOIN agenda ON task = {_MODEL}
""",  # noqa: S608 - no user input
    f"""
INSERT INTO runs SELECT 'run_' || lpad(to_hex((planned + {_MOVED}) / 1000), 12, '0') || left(md5(number::text || 'run'), 20),
  number, {_OWNER}, origin, planned + {_MOVED}, due + {_MOVED}, attempt, state, reason, token, node, claimed + {_MOVED},
  started + {_MOVED}, ended + {_MOVED}, deadline, span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel,
  lanes, result, error, stray
FROM {_NUMBERS} JOIN runs ON task = {_MODEL}
""",  # noqa: S608 - no user input
)
# All models were as late as each other, so that all of their lateness is counted under one name.
_COUNTS: Final = (
    """
INSERT INTO counter_deltas SELECT owner, 0, 'state:' || state, count(*) FROM tasks JOIN task_state ON task = seq
WHERE seq BETWEEN $1 AND $2 GROUP BY owner, state
""",
    """
INSERT INTO counter_deltas SELECT owner, ended / 3600000000, 'run:' || state, count(*) FROM runs
WHERE task BETWEEN $1 AND $2 GROUP BY 1, 2, 3
""",
    """
INSERT INTO counter_deltas SELECT owner, ended / 3600000000, late, count(*)
FROM runs, (SELECT name AS late FROM counter_deltas WHERE name LIKE 'late:%' UNION SELECT name FROM counters
  WHERE name LIKE 'late:%' LIMIT 1) AS lateness
WHERE task BETWEEN $1 AND $2 GROUP BY 1, 2, 3
""",
)


def fits(tasks: int) -> bool:
    return disk_usage(gettempdir()).free > _BYTES_EACH * tasks


def grow(url: str, tasks: int) -> dict[str, float]:
    """To so many tasks; seconds to write, and to tidy up and sum up after that."""
    return asyncio.run(_grow(url, tasks))


async def _grow(url: str, tasks: int) -> dict[str, float]:
    started = perf_counter()
    store = PostgresStore(url)
    await store.open()
    try:
        if await store.next_due() is None:
            await write_models(store, work.now() - 2 * DAY + _AHEAD)
        connection = await asyncpg.connect(url, server_settings=BULK_SETTINGS)
        try:
            await _multiply(connection, tasks)
            written = perf_counter()
            await store.trim(EPOCH + DAY, 1_000, 1)
            await connection.execute("VACUUM ANALYZE")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close()
    finally:
        await store.close()
    return {"writing": written - started, "tidying": perf_counter() - written}


async def _multiply(connection: asyncpg.Connection[Any], tasks: int) -> None:
    last: int = await connection.fetchval("SELECT max(seq) FROM tasks")
    if last >= tasks:
        return
    async with connection.transaction(), without_indexes(connection, tasks - last):
        for statement in (*_STATEMENTS, *_COUNTS):
            await connection.execute(statement, last + 1, tasks)
        await connection.execute("SELECT setval('task_numbers', $1)", tasks)


@asynccontextmanager
async def without_indexes(connection: asyncpg.Connection[Any], many: int) -> AsyncIterator[None]:
    """They are made again from what the schema says, which is faster than to enter every row into them."""
    found = await connection.fetch(
        "SELECT indexname AS name, indexdef AS made_by FROM pg_indexes WHERE schemaname = 'horae'"
        " AND tablename IN ('tasks', 'task_state', 'agenda', 'runs') AND indexname NOT LIKE '%_pkey'"
    )
    wanted = found if many >= _FEW else []
    for index in wanted:
        await connection.execute(f"DROP INDEX {index['name']}")
    yield
    for index in wanted:
        await connection.execute(index["made_by"])
