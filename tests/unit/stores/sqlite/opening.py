"""How these tests open stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from horae.clock import Clock
from horae.stores.sqlite import SQLiteStore

PATIENCE: Final = 60
"""What hangs ends with an error; nothing is measured by this."""


@asynccontextmanager
async def opened(path: Path, *, clock: Clock | None = None, vfs: str | None = None) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path, clock=clock, vfs=vfs)
    async with asyncio.timeout(PATIENCE):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def new_store(folder: Path) -> AsyncIterator[SQLiteStore]:
    async with opened(folder / "horae.db") as store:
        yield store
