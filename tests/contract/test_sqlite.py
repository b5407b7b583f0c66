"""The SQLite store passes the store contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from horae.ports.full_store import FullStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts import JournalContract, KilledClaimContract, RecordsContract, StoreContract


class TestSQLiteStore(StoreContract, RecordsContract, JournalContract, KilledClaimContract):
    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        with TemporaryDirectory() as folder:
            async with opened(Path(folder, "horae.db")) as store:
                yield store

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        assert isinstance(store, SQLiteStore)
        async with opened(Path(store.path)) as second:
            yield second

    def address_of(self, store: FullStore) -> str:
        assert isinstance(store, SQLiteStore)
        return f"sqlite:///{store.path}"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
