"""Stores of cluster tests: a SQLite file, or an empty database on a real server for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tests.faults.testbed import Testbed
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

StoreKind: TypeAlias = Literal["sqlite", "postgres", "mariadb", "redis"]
DatabaseServer: TypeAlias = PostgresServer | MariaDBServer | RedisServer

SQL_SERVERS: Final[tuple[StoreKind, ...]] = ("postgres", "mariadb")
SERVERS: Final[tuple[StoreKind, ...]] = (*SQL_SERVERS, "redis")
STORES: Final[tuple[StoreKind, ...]] = ("sqlite", *SERVERS)

_SERVER_TYPES: Final[dict[StoreKind, Callable[[], DatabaseServer]]] = {
    "postgres": PostgresServer,
    "mariadb": MariaDBServer,
    "redis": RedisServer,
}


def server_of(kind: StoreKind) -> DatabaseServer | None:
    """Return the server, not yet started; None for SQLite."""
    return None if kind == "sqlite" else _SERVER_TYPES[kind]()


def new_testbed(folder: Path, server: DatabaseServer | None) -> Testbed:
    return Testbed.on_file(folder) if server is None else Testbed(folder, server.new_database())


@contextmanager
def running_server(kind: StoreKind) -> Iterator[DatabaseServer | None]:
    """Run the server of that kind; yields None for SQLite."""
    server = server_of(kind)
    if server is None:
        yield None
        return
    with server:
        yield server
