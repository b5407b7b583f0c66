"""The store in PostgreSQL keeps the contracts that every store keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.stores.postgres import PostgresStore
from horae.testing.contracts import JournalContract, RecordsContract, StoreContract, WholeStore
from tests.servers.postgres import PostgresServer


class TestPostgresStore(StoreContract, RecordsContract, JournalContract):
    _server: PostgresServer

    @pytest.fixture(autouse=True)
    def _at(self, postgres_server: PostgresServer) -> None:
        self._server = postgres_server

    @asynccontextmanager
    async def make(self) -> AsyncIterator[WholeStore]:
        url = self._server.new_database()
        async with opened(url) as store:
            yield store
        self._server.drop_database(url)

    @asynccontextmanager
    async def another(self, store: WholeStore) -> AsyncIterator[WholeStore]:
        assert isinstance(store, PostgresStore)
        async with opened(store.url) as second:
            yield second


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
