"""The MariaDB store passes the store contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.ports.full_store import FullStore
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.connection import DIALECT
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract
from tests.contract.mariadb_databases import DatabasePool, opened
from tests.servers.mariadb import MariaDBServer


@pytest.fixture(scope="module")
def pool(mariadb_server: MariaDBServer) -> DatabasePool:
    return DatabasePool(mariadb_server)


class TestMySQLStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
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
        assert isinstance(store, MySQLStore)
        async with opened(store.url) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, MySQLStore)
        return store.url
