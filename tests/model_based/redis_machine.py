"""The store in Redis, driven beside the store in memory: an empty place for every life."""

from __future__ import annotations

from horae.ports.full_store import FullStore
from horae.stores.redis.store import RedisStore
from horae.testing.contracts.model_based.machine import StoreMachine
from horae.testing.contracts.model_based.machine_state import MachineState
from tests.servers.redis import RedisServer


def machine_on(server: RedisServer, kind: type[MachineState] = StoreMachine) -> type[MachineState]:
    class RedisMachine(kind):  # type: ignore[misc,valid-type]
        is_optimistic = True

        def __init__(self) -> None:
            super().__init__()
            self._url = ""

        async def open_empty(self) -> FullStore:
            if not self._url:
                self._url = server.new_database()
            return await _opened(self._url)

        async def another(self, store: FullStore) -> FullStore:
            assert isinstance(store, RedisStore)
            return await _opened(self._url)

    return RedisMachine


async def _opened(url: str) -> RedisStore:
    store = RedisStore(url)
    await store.open()
    return store
