"""Open stores for these tests, with a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from horae.clock import Clock
from horae.stores.sqlite import SQLiteStore

TIMEOUT_SECONDS: Final = 60
"""A call that hangs fails after this time; tests measure nothing with it."""


@asynccontextmanager
async def open_store(path: Path, *, clock: Clock | None = None, vfs: str | None = None) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path, clock=clock, vfs=vfs)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def new_store(folder: Path) -> AsyncIterator[SQLiteStore]:
    async with open_store(folder / "horae.db") as store:
        yield store
