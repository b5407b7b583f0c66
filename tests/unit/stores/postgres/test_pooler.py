"""Store contract behind a transaction pooler (PgBouncer)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from horae.clock import SystemClock
from horae.ports.full_store import FullStore
from horae.stores.postgres import PostgresStore, connection_factory
from horae.testing.contracts.stores.claims.fencing import FencingContract
from horae.testing.contracts.stores.claims.lanes import LanesContract
from horae.testing.contracts.stores.claims.nodes import NodesContract
from horae.testing.contracts.stores.reads.events import EventsContract
from horae.testing.contracts.stores.writes.task_keys import TaskKeysContract
from horae.testing.decisions import lose
from horae.testing.factories import NODE, a_node
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.store_setup import new_schema, open_store


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(postgres_server, pool_size=5) as running:
        yield running


class TestBehindAPooler(LanesContract, FencingContract, EventsContract, TaskKeysContract, NodesContract):
    _server: PostgresServer
    _pooler: PgBouncer

    @pytest.fixture(autouse=True)
    def _at(self, postgres_server: PostgresServer, pooler: PgBouncer) -> None:
        self._server, self._pooler = postgres_server, pooler

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        url = new_schema(self._server, statement_cache=0, direct=self._server.url)
        async with open_store(self._pooler.through(url)) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, PostgresStore)
        async with open_store(store.url) as second:
            yield second


async def test_idle_transaction_behind_a_pooler_releases_its_rows(
    postgres_server: PostgresServer, pooler: PgBouncer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pooler accepts no session settings, and would keep the transaction open while the node is frozen."""
    monkeypatch.setitem(connection_factory._TRANSACTION_SETTINGS, "idle_in_transaction_session_timeout", "100ms")

    url = new_schema(postgres_server, statement_cache=0, direct=postgres_server.url)
    async with open_store(pooler.through(url)) as store:
        await store.join(a_node())
        frozen = await connection_factory.PostgresConnectionFactory(store.address, SystemClock()).connect()
        await frozen.begin()
        assert await frozen.query("begin_claim", NODE)
        assert await store.recover(NODE, 0, lose, 10) == 0
        assert await store.nodes() == ()
        frozen.abandon()
