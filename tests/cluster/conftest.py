"""Testbed for each test on each store, its workers, and the proxy between a worker and its database server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.stores import STORES, DatabaseServer, StoreKind, new_testbed
from tests.faults.fixtures import measured, workers
from tests.faults.functions import FOLDER
from tests.faults.testbed import Testbed
from tests.servers.fixtures import mariadb_server, postgres_server, redis_server
from tests.servers.ports import with_port
from tests.servers.proxy import Proxy

__all__ = [
    "mariadb_server",
    "measured",
    "postgres_server",
    "proxied_url",
    "proxy",
    "redis_server",
    "server",
    "store",
    "testbed",
    "workers",
]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> StoreKind:
    """Store of the test; tests for servers only are marked `@ON_SERVERS`."""
    kind: StoreKind = request.param
    return kind


@pytest.fixture
def server(store: StoreKind, request: pytest.FixtureRequest) -> DatabaseServer | None:
    """The requested server; others are not started."""
    if store == "sqlite":
        return None
    running_server: DatabaseServer = request.getfixturevalue(f"{store}_server")
    return running_server


@pytest.fixture
def testbed(server: DatabaseServer | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Testbed]:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    made = new_testbed(tmp_path, server)
    yield made
    if server is not None:
        server.drop_database(made.url)


@pytest.fixture
def proxy(server: DatabaseServer) -> Iterator[Proxy]:
    with Proxy(server.port) as made:
        yield made


@pytest.fixture
def proxied_url(testbed: Testbed, proxy: Proxy) -> str:
    """Address of the store through the proxy."""
    return with_port(testbed.url, proxy.port)
