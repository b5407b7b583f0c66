"""`schedule(…, using=connection)`: the task is committed or rolled back with the caller's transaction."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from horae import Conflict, Horae, InvalidSchedule, InvalidTask, NotFound, Refusal
from horae.clock import SystemClock
from horae.engine.settings import EngineSettings
from horae.model.run import RunState
from horae.ports.store import Terms

TIMEOUT_SECONDS = 120
NO_POLLING = EngineSettings(terms=Terms(lease=timedelta(hours=1), poll_ceiling=timedelta(hours=1)))
"""An engine with these settings polls once an hour, so only a notification makes it look earlier."""


def an_app(folder: Path, **options: Any) -> tuple[Horae, asyncio.Queue[int]]:
    """Return an app and the queue of the orders that it has shipped."""
    app = Horae(f"sqlite:///{folder}/horae.db", zone="UTC", settings=NO_POLLING, **options)
    shipped: asyncio.Queue[int] = asyncio.Queue()

    @app.task(name="ship")
    async def ship(order: int) -> str:
        shipped.put_nowait(order)
        return f"shipped {order}"

    return app, shipped


@contextmanager
def open_shop(folder: Path) -> Iterator[apsw.Connection]:
    """Open the caller's own tables, in the file of the tasks."""
    with closing(apsw.Connection(f"{folder}/horae.db")) as shop:
        shop.set_busy_timeout(TIMEOUT_SECONDS * 1000)
        shop.execute("CREATE TABLE IF NOT EXISTS orders (number INTEGER)")
        yield shop


def orders(shop: apsw.Connection) -> list[int]:
    return [number for (number,) in shop.execute("SELECT number FROM orders ORDER BY number")]


async def test_task_starts_after_the_commit_and_not_before(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, shipped = an_app(tmp_path)
        async with app:
            with open_shop(tmp_path) as shop:
                shop.execute("BEGIN IMMEDIATE")
                shop.execute("INSERT INTO orders VALUES (7)")
                task = await app.schedule("ship", "now", {"order": 7}, using=shop)
                with pytest.raises(NotFound):
                    await task.state()
                assert await app.tasks() == []
                assert await app.store.next_due() is None
                assert shipped.empty()
                shop.execute("COMMIT")
                # Only the end of the transaction notifies the engine.
                assert await shipped.get() == 7
                assert (await task.wait(TIMEOUT_SECONDS)).value == "shipped 7"


async def test_task_due_later_starts_on_time(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, shipped = an_app(tmp_path)
        async with app:
            with open_shop(tmp_path) as shop, shop:
                # The node may write at the same moment: a transaction that reads first could not write after that.
                shop.execute("INSERT INTO orders VALUES (8)")
                task = await app.schedule("ship", "in 300ms", {"order": 8}, using=shop)
            assert await shipped.get() == 8
            (run,) = await task.runs()
            assert run.started is not None
            assert run.started >= run.due


async def test_rolled_back_task_never_runs(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, shipped = an_app(tmp_path)
        async with app:
            with open_shop(tmp_path) as shop:
                shop.execute("BEGIN IMMEDIATE")
                shop.execute("INSERT INTO orders VALUES (7)")
                lost = await app.schedule("ship", "now", {"order": 7}, using=shop)
                shop.execute("ROLLBACK")
                shop.execute("BEGIN IMMEDIATE")
                await app.schedule("ship", "now", {"order": 8}, using=shop)
                shop.execute("COMMIT")
                assert await shipped.get() == 8
                assert orders(shop) == []
            with pytest.raises(NotFound) as refusal:
                await lost.wait(TIMEOUT_SECONDS)
            assert refusal.value.code == "no_such_task"


async def test_engine_of_another_app_is_notified_of_the_commit(tmp_path: Path) -> None:

    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, shipped = an_app(tmp_path)
        adder, _ = an_app(tmp_path, engine=False)
        async with app, adder:
            with open_shop(tmp_path) as shop, shop:
                shop.execute("INSERT INTO orders VALUES (7)")
                await adder.schedule("ship", "now", {"order": 7}, using=shop)
            assert await shipped.get() == 7


async def test_existing_key_is_refused_and_its_task_is_not_edited(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, _ = an_app(tmp_path, engine=False)
        async with app:
            before = await app.schedule("ship", "in 1h", {"order": 1}, key="order 1")
            with open_shop(tmp_path) as shop:
                shop.execute("BEGIN IMMEDIATE")
                with pytest.raises(Conflict) as refusal:
                    await app.schedule("ship", "in 2h", {"order": 1}, key="order 1", using=shop)
                assert refusal.value.code == "key_taken"
                shop.execute("INSERT INTO orders VALUES (2)")
                after = await app.schedule("ship", "in 2h", {"order": 2}, key="order 2", using=shop)
                shop.execute("COMMIT")
                assert orders(shop) == [2]
            assert [task.id for task in await app.tasks()] == [before.id, after.id]
            assert (await before.facts()).task.version == 1
            assert (await app.get("order 2")).id == after.id


async def test_arguments_are_validated_as_without_a_transaction(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        app, _ = an_app(tmp_path, engine=False)
        async with app:
            with open_shop(tmp_path) as shop:
                shop.execute("BEGIN IMMEDIATE")
                refused: list[tuple[type[Refusal], Any, Any, dict[str, Any]]] = [
                    (InvalidSchedule, "every blue moon", {"order": 1}, {}),
                    (InvalidTask, "now", {"order": "x"}, {}),
                    (InvalidTask, "now", {"order": 1}, {"overlap": "dance"}),
                    (InvalidTask, "now", {"order": 1}, {"key": "x" * 1_000}),
                    (InvalidTask, "now", {"order": 1}, {"owner": ""}),
                ]
                for kind, when, payload, options in refused:
                    with pytest.raises(kind):
                        await app.schedule("ship", when, payload, using=shop, **options)
                await app.schedule("ship", "in 1h", {"order": 1}, owner="bob", labels={"a": "b"}, lane="x", using=shop)
                shop.execute("COMMIT")
            (task,) = await app.tasks()
            facts = await task.facts()
            assert (facts.task.owner, facts.task.labels, facts.task.lane) == ("bob", (("a", "b"),), "x")


async def test_memory_store_refuses_to_share_a_transaction() -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with Horae("memory://", engine=False) as app:
            assert not app.store.shares_transactions
            with pytest.raises(Refusal) as refusal:
                await app.schedule("nothing of ours", "never", using=object())
            assert refusal.value.code == "no_shared_transaction"


def test_blocking_app_shares_the_transaction(tmp_path: Path) -> None:
    """The connection belongs to this thread, the engine to another."""
    app, _ = an_app(tmp_path)
    with app.sync() as horae, open_shop(tmp_path) as shop:
        with shop:
            shop.execute("INSERT INTO orders VALUES (7)")
            task = horae.schedule("ship", "now", {"order": 7}, using=shop)
        assert task.wait(TIMEOUT_SECONDS).state is RunState.SUCCEEDED
        shop.execute("BEGIN IMMEDIATE")
        horae.schedule("ship", "now", {"order": 8}, using=shop)
        shop.execute("ROLLBACK")
        assert [each.id for each in horae.tasks()] == [task.id]
        with pytest.raises(Refusal) as refusal:
            horae.schedule("ship", "now", {"order": 9}, using=shop)
        assert refusal.value.code == "no_transaction"


_SELL_SCRIPT = """
import asyncio, sys
import apsw
from itertools import count
from horae import Horae

async def sell(folder: str) -> None:
    app = Horae(f"sqlite:///{folder}/horae.db", engine=False)
    app.task(name="ship")(lambda order: None)
    async with app:
        shop = apsw.Connection(f"{folder}/horae.db")
        shop.set_busy_timeout(60_000)
        shop.execute("CREATE TABLE orders (number INTEGER)")
        for number in count():
            shop.execute("BEGIN IMMEDIATE")
            shop.execute("INSERT INTO orders VALUES (?)", (number,))
            await app.schedule("ship", "in 1h", {"order": number}, key=f"order {number}", using=shop)
            print("sold", number, flush=True)
            if sys.argv[2] == "hesitates":
                await asyncio.Event().wait()
            shop.execute("COMMIT")

asyncio.run(sell(sys.argv[1]))
"""


def sell_until_killed(folder: Path, manner: str, seconds: float) -> list[str]:
    """Run the script, kill it after these seconds, and return its printed lines; the last sale may not be committed."""
    command = [sys.executable, "-c", _SELL_SCRIPT, str(folder), manner]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shop:
        assert shop.stdout is not None
        sold = [shop.stdout.readline()]
        SystemClock().sleep(seconds)
        shop.kill()
        sold += shop.stdout.readlines()
    return sold


async def read_orders_and_keys(folder: Path) -> tuple[list[int], list[str | None]]:
    """Return the stored orders and the keys of the stored tasks."""
    app, _ = an_app(folder, engine=False)
    async with app:
        keys = [(await task.facts()).task.key async for task in app.tasks()]
        assert await app.store.check() == ()
        with open_shop(folder) as shop:
            return orders(shop), keys


async def test_kill_before_the_commit_leaves_neither_order_nor_task(tmp_path: Path) -> None:
    assert sell_until_killed(tmp_path, "hesitates", 0) == ["sold 0\n"]
    assert (await read_orders_and_keys(tmp_path)) == ([], [])


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_kill_at_any_moment_leaves_orders_and_tasks_consistent(tmp_path: Path, seed: int) -> None:
    sold = sell_until_killed(tmp_path, "goes on", random.Random(seed).random() * 0.3)
    numbers, keys = await read_orders_and_keys(tmp_path)
    assert keys == [f"order {number}" for number in numbers]
    assert numbers == list(range(len(numbers)))
    # The last printed sale may or may not be committed; all before it are.
    assert len(sold) - 1 <= len(numbers) <= len(sold) + 1
