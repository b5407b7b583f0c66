"""The measured PostgreSQL server, and its CPU, log and disk use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import asyncpg

from bench.postgres.bench_server import database_name
from tests.servers.postgres import PostgresServer
from tests.servers.process_tree import children

SETTINGS: Final = {"shared_buffers": "2GB", "max_wal_size": "8GB", "effective_cache_size": "12GB"}
"""Settings for a few gigabytes of memory; durability stays at its default."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_TABLES: Final = """
SELECT relname, pg_table_size(relid), pg_indexes_size(relid), n_live_tup, n_dead_tup, autovacuum_count
FROM pg_stat_user_tables WHERE schemaname = 'horae' ORDER BY pg_total_relation_size(relid) DESC, relname
"""
_INDEXES: Final = """
SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes WHERE schemaname = 'horae'
ORDER BY 2 DESC, 1
"""


class Table(NamedTuple):
    name: str
    rows_size: int
    indexes_size: int
    live: int
    dead: int
    swept: int
    """How often autovacuum came."""

    @property
    def size(self) -> int:
        return self.rows_size + self.indexes_size


class Spent(NamedTuple):
    """Since it was started: seconds of processors, by all of its processes, and bytes of its log."""

    seconds: float
    logged: int

    @classmethod
    def by(cls, server: PostgresServer) -> Self:
        return cls(processor_seconds(server.pid), int(server.ask("SELECT pg_current_wal_lsn() - '0/0'")))

    def since(self, before: Spent) -> Spent:
        return Spent(self.seconds - before.seconds, self.logged - before.logged)


@contextmanager
def started() -> Iterator[PostgresServer]:
    with PostgresServer(settings=SETTINGS) as server:
        yield server


def processor_seconds(parent: int) -> float:
    """Of a process, of the children that it has had, and of those that it has."""
    return sum(_ticks(parent, slice(13, 17))) / _TICKS + sum(
        sum(_ticks(child, slice(13, 15))) / _TICKS for child in children(parent)
    )


def tables(server: PostgresServer, url: str) -> list[Table]:
    lines = server.ask(_TABLES, database=database_name(url)).splitlines()
    return [Table(name, *map(int, numbers)) for name, *numbers in (line.split("|") for line in lines)]


def indexes(server: PostgresServer, url: str) -> dict[str, int]:
    lines = server.ask(_INDEXES, database=database_name(url)).splitlines()
    return {name: int(size) for name, size in (line.split("|") for line in lines)}


def facts(server: PostgresServer) -> str:
    version = server.ask("SHOW server_version").split()[0]
    durable = (f"{name} {server.ask(f'SHOW {name}')}" for name in ("fsync", "synchronous_commit", "full_page_writes"))
    return f"PostgreSQL {version}, {', '.join([*durable, *(' '.join(each) for each in SETTINGS.items())])}"


async def tidied(url: str) -> None:
    """What autovacuum and the next checkpoint would do, so that they do not fall into a measure. It may take minutes."""
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    try:
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


def _ticks(process: int, which: slice) -> list[int]:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    # The second field is a name between brackets, and may hold spaces: with it, these are the fields from 14 on.
    fields = ["", "", *text.rpartition(")")[2].split()]
    return [int(each) for each in fields[which]]
