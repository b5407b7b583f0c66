"""The store in PostgreSQL, driven beside the store in memory: a database of its own for every life."""

from __future__ import annotations

from horae.stores.postgres import PostgresStore
from horae.testing.contracts import WholeStore
from horae.testing.contracts.machine import StoreMachine
from tests.servers.postgres import PostgresServer


def machine_on(server: PostgresServer) -> type[StoreMachine]:
    class PostgresMachine(StoreMachine):
        def __init__(self) -> None:
            super().__init__()
            self._url = server.new_database()

        async def fresh(self) -> WholeStore:
            return await _opened(self._url)

        async def another(self, store: WholeStore) -> WholeStore:
            assert isinstance(store, PostgresStore)
            return await _opened(self._url)

        def teardown(self) -> None:
            super().teardown()
            server.drop_database(self._url)

    return PostgresMachine


async def _opened(url: str) -> PostgresStore:
    store = PostgresStore(url)
    await store.open()
    return store
