"""The stores that nodes share here: a file, and real servers of which each test has a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tests.faults.place import Place
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer

StoreKind: TypeAlias = Literal["sqlite", "postgres", "mariadb"]
DatabaseServer: TypeAlias = PostgresServer | MariaDBServer

SERVERS: Final[tuple[StoreKind, ...]] = ("postgres", "mariadb")
STORES: Final[tuple[StoreKind, ...]] = ("sqlite", *SERVERS)


def server_of(kind: StoreKind) -> DatabaseServer | None:
    """Not started yet; None where a file will do."""
    if kind == "sqlite":
        return None
    return PostgresServer() if kind == "postgres" else MariaDBServer()


def new_place(folder: Path, server: DatabaseServer | None) -> Place:
    return Place.on_file(folder) if server is None else Place(folder, server.new_database())


@contextmanager
def standing(kind: StoreKind) -> Iterator[DatabaseServer | None]:
    """The server of that kind while it is needed."""
    server = server_of(kind)
    if server is None:
        yield None
        return
    with server:
        yield server
