"""The PostgreSQL store passes the store contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.ports.full_store import FullStore
from horae.stores.postgres import PostgresStore
from horae.stores.postgres.connection import DIALECT
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract
from tests.contract.postgres_databases import DatabasePool, opened
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def pool(postgres_server: PostgresServer) -> DatabasePool:
    return DatabasePool(postgres_server)


class TestPostgresStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
    slice_size = DIALECT.max_claim_slice
    _pool: DatabasePool

    @pytest.fixture(autouse=True)
    def _at(self, pool: DatabasePool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        async with self._pool.empty() as url, opened(url) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, PostgresStore)
        async with opened(store.url) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, PostgresStore)
        return store.url
