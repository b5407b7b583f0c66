"""A PostgreSQL database with the rows of a SQLite file: both stores are measured with the same history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import apsw
import asyncpg

from bench.scale.filling import BULK_SETTINGS, without_indexes
from horae.stores.postgres import PostgresStore

_TASK: Final = "seq id owner name schedule target_kind target_spec payload policies created key lane labels version"
_STATE: Final = (
    "task version state counted failures skips_left last_end last_result paused_since pause_cause pause_note pause_until"
    " reason ended"
)
_ENTRY: Final = (
    "task slot kind due planned owner priority state origin attempt forgiven deaths through span_first span_last span_count"
    " waited in_order lane run_id"
)
_RUN: Final = (
    "id task owner origin planned due attempt state reason token node claimed started ended deadline span_first span_last"
    " span_count forgiven deaths alone in_order cancel lanes result error"
)
_NODE: Final = "id home version joined renewed renewals host load capacity clock_offset draining"
_TABLES: Final[Sequence[tuple[str, str, str]]] = (
    ("tasks", _TASK, "tasks"),
    ("task_state", _STATE, "task_state"),
    ("agenda", _ENTRY, "agenda"),
    ("runs", _RUN + " stray", "runs WHERE live = 0 ORDER BY seq"),
    ("live_runs", _RUN, "runs WHERE live = 1"),
    ("lanes", "name slot_limit", "lanes"),
    ("lane_slots", "lane run_id", "lane_slots"),
    ("nodes", _NODE, "nodes"),
    ("lines", "run_id number at level text", "lines"),
    ("records", "kind key owner body version expires", "records"),
    ("counters", "owner hour name number", "counters"),
    ("metadata", "name value", "metadata WHERE name = 'filled_at'"),
)
"""Table, its columns, and the rows of the file that it gets."""
_BATCH: Final = 100_000


def copy_to_postgres(path: str, url: str) -> None:
    """Fill a new database with all rows of the file."""
    asyncio.run(_copy(path, url))


async def _copy(path: str, url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    await store.close()
    source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url, server_settings=BULK_SETTINGS)
    try:
        runs: Any = source.execute("SELECT max(seq) FROM runs").get
        async with connection.transaction(), without_indexes(connection, int(runs)):
            for table, columns, rows in _TABLES:
                await _copy_table(source, connection, table, columns.split(), rows)
            await _copy_events(source, connection)
            await connection.execute("SELECT setval('task_numbers', (SELECT max(seq) FROM tasks))")
            await connection.execute("SELECT setval('tokens', 1000000)")
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
        source.close()


async def _copy_table(
    source: apsw.Connection, connection: asyncpg.Connection[Any], table: str, columns: list[str], rows: str
) -> None:
    cursor = source.execute(f"SELECT {', '.join(columns)} FROM {rows}")  # noqa: S608 - our own names
    while batch := [row for _, row in zip(range(_BATCH), cursor, strict=False)]:
        await connection.copy_records_to_table(table, records=batch, columns=columns, schema_name="horae")


async def _copy_events(source: apsw.Connection, connection: asyncpg.Connection[Any]) -> None:
    """Copy each event as a transaction of its own, with numbers below those of all real ones."""
    events = "SELECT number - 1000000000, 0, kind, at, owner, task_id, run_id, detail FROM events"
    columns = ["tx", "place", "kind", "at", "owner", "task_id", "run_id", "detail"]
    rows: list[Any] = source.execute(events).fetchall()
    await connection.copy_records_to_table("events", records=rows, columns=columns, schema_name="horae")
    batches = [(tx, 1, tx + 1_000_000_000) for tx, *_ in rows]
    await connection.copy_records_to_table(
        "event_batches", records=batches, columns=["tx", "size", "first"], schema_name="horae"
    )
    await connection.execute("UPDATE numbering SET last = $1", len(rows))
