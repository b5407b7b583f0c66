"""The store in MariaDB keeps the contracts that every store keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.ports.full_store import FullStore
from horae.stores.mysql import MySQLStore
from horae.stores.sql.store import MAX_CLAIM_SLICE
from horae.testing.contracts import JournalContract, RecordsContract, StoreContract
from tests.contract.mariadb_places import Places, opened
from tests.servers.mariadb import MariaDBServer


@pytest.fixture(scope="module")
def places(mariadb_server: MariaDBServer) -> Places:
    return Places(mariadb_server)


class TestMySQLStore(StoreContract, RecordsContract, JournalContract):
    slice_size = MAX_CLAIM_SLICE
    _places: Places

    @pytest.fixture(autouse=True)
    def _at(self, places: Places) -> None:
        self._places = places

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        async with self._places.empty() as url, opened(url) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, MySQLStore)
        async with opened(store.url) as second:
            yield second
