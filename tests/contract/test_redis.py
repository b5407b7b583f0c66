"""The Redis store passes the store contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.ports.full_store import FullStore
from horae.stores.redis.store import RedisStore
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract
from tests.servers.redis import RedisServer


class TestRedisStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
    _server: RedisServer

    @pytest.fixture(autouse=True)
    def _at(self, redis_server: RedisServer) -> None:
        self._server = redis_server

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        url = self._server.new_database()
        async with _opened(url) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, RedisStore)
        async with _opened(store.url) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, RedisStore)
        return store.url


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[FullStore]:
    store = RedisStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
