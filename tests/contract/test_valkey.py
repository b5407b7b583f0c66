"""The Redis store passes the store contracts on Valkey."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from horae.clock import SystemClock
from horae.ports.full_store import FullStore
from horae.stores.redis.connections.status import read_status
from horae.stores.redis.store import RedisStore
from horae.stores.sql.reads.status import PossibleLoss
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract
from tests.servers.valkey import ValkeyServer


@pytest.fixture(scope="module")
def valkey_server() -> Iterator[ValkeyServer]:
    with ValkeyServer(in_memory=True) as made:
        yield made


class TestValkeyStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
    _server: ValkeyServer

    @pytest.fixture(autouse=True)
    def _at(self, valkey_server: ValkeyServer) -> None:
        self._server = valkey_server

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        async with _opened(self._server.new_database()) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, RedisStore)
        async with _opened(store.url) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, RedisStore)
        return store.url


async def test_status_names_valkey(valkey_server: ValkeyServer) -> None:
    status = await read_status(valkey_server.new_database(), SystemClock())
    assert (status.kind, status.possible_loss) == ("Valkey", PossibleLoss.NOTHING)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[FullStore]:
    store = RedisStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
