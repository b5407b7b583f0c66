"""The store in SQLite, driven beside the store in memory: a file, opened by one or two processes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from horae.ports.full_store import FullStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts.model_based.machine import StoreMachine
from horae.testing.contracts.model_based.machine_state import MachineState
from horae.testing.contracts.model_based.message_machine import MessageMachine


class OnSQLite(MachineState):
    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()

    async def open_empty(self) -> FullStore:
        return await _opened(Path(self._folder.name, "horae.db"))

    async def another(self, store: FullStore) -> FullStore:
        assert isinstance(store, SQLiteStore)
        return await _opened(Path(store.path))

    def teardown(self) -> None:
        super().teardown()
        self._folder.cleanup()


class SQLiteMachine(OnSQLite, StoreMachine):
    """Tasks, runs and records."""


class SQLiteMessageMachine(OnSQLite, MessageMachine):
    """Message streams."""


async def _opened(path: Path) -> SQLiteStore:
    store = SQLiteStore(path)
    await store.open()
    return store
