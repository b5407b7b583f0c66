"""The PostgreSQL server of a run, with durable default settings, and its contenders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from bench.postgres.contender import Contender
from bench.postgres.peers import Found, install
from bench.postgres.scale import Sizes
from tests.servers.postgres import PostgresServer

HORAE: Final = Contender("Horae", (sys.executable, "-m", "bench.engine.child", "bench.postgres.horae_side"))
# pg_stat_statements is loaded, but counts only where a database enables it, so that other measurements are unaffected.
_SETTINGS: Final = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none"}
_DURABLE: Final = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
_CALLS: Final = """
SELECT coalesce(sum(calls), 0) FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid WHERE datname = '{}'
"""


@dataclass(frozen=True, slots=True)
class BenchServer:
    server: PostgresServer
    sizes: Sizes
    found: Found

    @property
    def peers(self) -> tuple[Contender, ...]:
        return self.found.peers

    def new_database(self) -> str:
        return self.server.new_database()

    def drop(self, url: str) -> None:
        self.server.drop_database(url)

    def tidy(self, url: str) -> None:
        """After much was added: what autovacuum and the next checkpoint would do, so that they do not fall into a measure."""
        self.server.ask("VACUUM ANALYZE", database=database_name(url))
        self.server.ask("CHECKPOINT")

    def count_statements(self, url: str) -> None:
        """From now on, of new connections."""
        self.server.ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        self.server.ask(f"ALTER DATABASE \"{database_name(url)}\" SET pg_stat_statements.track = 'top'")

    def statements(self, url: str) -> int:
        """All that clients sent to this database, begin and commit among them."""
        return int(self.server.ask(_CALLS.format(database_name(url))))

    def facts(self) -> str:
        """The server as it says of itself."""
        version = self.server.ask("SHOW server_version").split()[0]
        durable = (f"{name} {self.server.ask(f'SHOW {name}')}" for name in _DURABLE)
        return f"PostgreSQL {version}, {', '.join(durable)}"


@contextmanager
def bench_server(sizes: Sizes) -> Iterator[BenchServer]:
    found = install() if sizes.peers else Found((), ())
    with PostgresServer(settings=_SETTINGS) as server:
        yield BenchServer(server, sizes, found)


def database_name(url: str) -> str:
    return urlsplit(url).path[1:]
