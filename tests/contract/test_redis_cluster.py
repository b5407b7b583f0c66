"""The Redis store passes the store contracts on a real cluster of three primaries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from horae.ports.full_store import FullStore
from horae.stores.redis.store import RedisStore
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract
from tests.servers.redis_cluster import RedisCluster


@pytest.fixture(scope="module")
def redis_cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as made:
        yield made


class TestRedisClusterStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
    _cluster: RedisCluster

    @pytest.fixture(autouse=True)
    def _at(self, redis_cluster: RedisCluster) -> None:
        self._cluster = redis_cluster

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        async with _opened(self._cluster.new_prefix()) as store:
            yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, RedisStore)
        async with _opened(store.url) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, RedisStore)
        return store.url


def test_slots_of_all_servers_were_used(redis_cluster: RedisCluster) -> None:
    """Each deployment is in one slot; several are in slots of different servers."""
    slots = {redis_cluster.servers[0].ask("CLUSTER", "KEYSLOT", f"{{test{number}}}:schema") for number in range(1, 20)}
    assert len({int(slot) * 3 // 16_384 for slot in slots}) == 3


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[FullStore]:
    store = RedisStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
