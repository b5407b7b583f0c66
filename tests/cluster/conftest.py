"""A place for each test on each store, its workers, and what stands between a worker and its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.stores import STORES, DatabaseServer, StoreKind, new_place
from tests.faults.fixtures import measured, workers
from tests.faults.functions import FOLDER
from tests.faults.place import Place
from tests.servers.fixtures import mariadb_server, postgres_server
from tests.servers.ports import with_port
from tests.servers.proxy import Proxy

__all__ = ["behind", "mariadb_server", "measured", "place", "postgres_server", "proxy", "server", "store", "workers"]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> StoreKind:
    """Tests that make sense on servers only say so: `@ON_SERVERS`."""
    kind: StoreKind = request.param
    return kind


@pytest.fixture
def server(store: StoreKind, request: pytest.FixtureRequest) -> DatabaseServer | None:
    """Only the one that is asked for is started."""
    if store == "sqlite":
        return None
    standing: DatabaseServer = request.getfixturevalue(f"{store}_server")
    return standing


@pytest.fixture
def place(server: DatabaseServer | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    made = new_place(tmp_path, server)
    yield made
    if server is not None:
        server.drop_database(made.url)


@pytest.fixture
def proxy(server: DatabaseServer) -> Iterator[Proxy]:
    with Proxy(server.port) as made:
        yield made


@pytest.fixture
def behind(place: Place, proxy: Proxy) -> str:
    """The address of the store for a worker that reaches it through the proxy."""
    return with_port(place.url, proxy.port)
