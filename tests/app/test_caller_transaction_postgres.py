"""`schedule(…, using=connection)` on PostgreSQL, with the caller's tables and the tasks in one database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from horae import Conflict, Horae, NotFound, Refusal
from horae.engine.settings import EngineSettings
from horae.ports.store import Terms
from tests.servers.postgres import PostgresServer

TIMEOUT_SECONDS = 120
FREQUENT_POLLING = EngineSettings(terms=Terms(poll_ceiling=timedelta(milliseconds=100)))


async def sell(url: str) -> None:
    app = Horae(url, zone="UTC", settings=FREQUENT_POLLING)
    shipped: asyncio.Queue[int] = asyncio.Queue()

    @app.task(name="ship")
    async def ship(order: int) -> None:
        shipped.put_nowait(order)

    async with app:
        shop = await asyncpg.connect(url)
        await shop.execute("CREATE TABLE orders (number integer)")
        await _check_commit(app, shop, shipped)
        await _check_rollback(app, shop, shipped)
        await _check_existing_key(app, shop)
        assert [row["number"] for row in await shop.fetch("SELECT number FROM orders ORDER BY 1")] == [7, 9, 10]
        await shop.close()


async def _check_commit(app: Horae, shop: Any, shipped: asyncio.Queue[int]) -> None:
    async with shop.transaction():
        await shop.execute("INSERT INTO orders VALUES (7)")
        task = await app.schedule("ship", "now", {"order": 7}, using=shop)
        with pytest.raises(NotFound):
            await task.state()
        assert await app.store.next_due() is None
        assert shipped.empty()
    assert await shipped.get() == 7


async def _check_rollback(app: Horae, shop: Any, shipped: asyncio.Queue[int]) -> None:
    transaction = shop.transaction()
    await transaction.start()
    await shop.execute("INSERT INTO orders VALUES (8)")
    await app.schedule("ship", "now", {"order": 8}, using=shop)
    await transaction.rollback()
    async with shop.transaction():
        await shop.execute("INSERT INTO orders VALUES (9)")
        await app.schedule("ship", "now", {"order": 9}, using=shop)
    assert await shipped.get() == 9


async def _check_existing_key(app: Horae, shop: Any) -> None:
    async with shop.transaction():
        await app.schedule("ship", "in 1h", {"order": 10}, key="order 10", using=shop)
        with pytest.raises(Conflict) as refusal:
            await app.schedule("ship", "in 2h", {"order": 10}, key="order 10", using=shop)
        assert refusal.value.code == "key_taken"
        await shop.execute("INSERT INTO orders VALUES (10)")
    assert (await app.get("order 10")).name == "ship"


async def test_order_and_task_are_one_transaction() -> None:
    with PostgresServer() as server:
        await asyncio.wait_for(sell(server.new_database()), TIMEOUT_SECONDS)


async def test_connection_to_the_same_database_name_on_another_server_is_refused() -> None:
    with PostgresServer() as one, PostgresServer() as other:
        ours, theirs = one.url_of("postgres"), other.url_of("postgres")
        assert ours != theirs
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            Horae(ours, zone="UTC", engine=False) as app,
            Horae(theirs, zone="UTC", engine=False),
        ):
            shop = await asyncpg.connect(theirs)
            async with shop.transaction():
                with pytest.raises(Refusal) as refusal:
                    await app.schedule({"say": "hello"}, "now", using=shop)
            assert refusal.value.code == "another_database"
            await shop.close()
