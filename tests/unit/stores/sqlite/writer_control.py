"""Control of the SQLite writer thread: block it, and wait until requests are queued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event

from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.connection import SqliteConnection


@asynccontextmanager
async def block_writer(store: SQLiteStore) -> AsyncIterator[None]:
    """Block the writer until the block ends, so that all requests made inside form one group."""
    release, busy = Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_: SqliteConnection) -> None:
        loop.call_soon_threadsafe(busy.set)
        release.wait()

    waiting = asyncio.create_task(store._writer.submit(wait))
    await busy.wait()
    try:
        yield
    finally:
        release.set()
        # The blocking request shares a transaction with the others, and may get their error.
        await asyncio.wait([waiting])
        waiting.exception()


async def wait_for_requests(store: SQLiteStore, count: int) -> None:
    """Wait until the writer's inbox holds `count` requests."""
    while store._writer._inbox.qsize() < count:
        await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))])
