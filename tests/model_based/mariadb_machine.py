"""The store in MariaDB, driven beside the store in memory: an empty place for every life."""

from __future__ import annotations

from horae.ports.full_store import FullStore
from horae.stores.mysql import MySQLStore
from horae.testing.contracts.model_based.machine import StoreMachine
from horae.testing.contracts.model_based.machine_state import MachineState
from tests.contract.mariadb_databases import DatabasePool
from tests.servers.mariadb import MariaDBServer


def machine_on(server: MariaDBServer, kind: type[MachineState] = StoreMachine) -> type[MachineState]:
    pool = DatabasePool(server)

    class MariaDBMachine(kind):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            super().__init__()
            self._url = ""

        async def open_empty(self) -> FullStore:
            if not self._url:
                self._url = await pool.take()
            return await _opened(self._url)

        async def another(self, store: FullStore) -> FullStore:
            assert isinstance(store, MySQLStore)
            return await _opened(self._url)

        def teardown(self) -> None:
            super().teardown()
            if self._url:
                pool.give_back(self._url)

    return MariaDBMachine


async def _opened(url: str) -> MySQLStore:
    store = MySQLStore(url)
    await store.open()
    return store
