"""How these tests open stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from horae.stores.sqlite import SQLiteStore


@asynccontextmanager
async def opened(path: Path, *, vfs: str | None = None) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path, vfs=vfs)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def with_store(folder: Path, scene: Callable[[SQLiteStore], Awaitable[None]]) -> None:
    """Play a scene on a new store."""

    async def play() -> None:
        async with opened(folder / "horae.db") as store:
            await scene(store)

    asyncio.run(play())
