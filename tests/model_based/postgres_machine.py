"""The store in PostgreSQL, driven beside the store in memory: an empty place for every life."""

from __future__ import annotations

from horae.ports.full_store import FullStore
from horae.stores.postgres import PostgresStore
from horae.testing.contracts.model_based.machine import StoreMachine
from horae.testing.contracts.model_based.machine_state import MachineState
from tests.contract.postgres_databases import DatabasePool
from tests.servers.postgres import PostgresServer


def machine_on(server: PostgresServer, kind: type[MachineState] = StoreMachine) -> type[MachineState]:
    pool = DatabasePool(server)

    class PostgresMachine(kind):  # type: ignore[misc,valid-type]
        splits_claims = True

        def __init__(self) -> None:
            super().__init__()
            self._url = ""

        async def open_empty(self) -> FullStore:
            if not self._url:
                self._url = await pool.take()
            return await _opened(self._url)

        async def another(self, store: FullStore) -> FullStore:
            assert isinstance(store, PostgresStore)
            return await _opened(self._url)

        def teardown(self) -> None:
            super().teardown()
            if self._url:
                pool.give_back(self._url)

    return PostgresMachine


async def _opened(url: str) -> PostgresStore:
    store = PostgresStore(url)
    await store.open()
    return store
