"""Stores of cluster tests: a SQLite file, or a database on a real server for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tests.faults.testbed import Testbed
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer

StoreKind: TypeAlias = Literal["sqlite", "postgres", "mariadb"]
DatabaseServer: TypeAlias = PostgresServer | MariaDBServer

SERVERS: Final[tuple[StoreKind, ...]] = ("postgres", "mariadb")
STORES: Final[tuple[StoreKind, ...]] = ("sqlite", *SERVERS)


def server_of(kind: StoreKind) -> DatabaseServer | None:
    """Return the server, not yet started; None for SQLite."""
    if kind == "sqlite":
        return None
    return PostgresServer() if kind == "postgres" else MariaDBServer()


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
