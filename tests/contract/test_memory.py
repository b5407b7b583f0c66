"""The memory store passes the store contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from horae.ports.full_store import FullStore
from horae.stores.memory import MemoryStore
from horae.testing.contracts import JournalContract, RecordsContract, StoreContract


class TestMemoryStore(StoreContract, RecordsContract, JournalContract):
    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        store = MemoryStore()
        await store.open()
        yield store
        await store.close()
