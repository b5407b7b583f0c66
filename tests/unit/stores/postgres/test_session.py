"""Transactions that others stand in the way of, connections that are lost in the middle of one, threads beside the first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.errors import Refusal, StoreUnavailable
from horae.model.run import RunState
from horae.stores.postgres import PostgresStore, connection_factory
from horae.stores.sql import connection_pool
from horae.testing.contracts.stores.setup import (
    add_tasks,
    claim_all,
    fill_lane,
    get_facts,
    get_run,
    settle,
    start_run,
)
from horae.testing.decisions import always
from horae.testing.factories import NODE, NOON, a_new_task, a_node, a_task
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.unit.stores.postgres.opening import (
    PATIENCE,
    Connection,
    connected,
    new_schema,
    opened,
    until,
    waiting_for_locks,
)

OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'horae' AND datname = current_database()"


@asynccontextmanager
async def in_the_way(store: PostgresStore, table: str = "task_state") -> AsyncIterator[Connection]:
    """Somebody who holds every row of a table until it rolls back."""
    async with connected(store) as rival:
        await rival.execute("BEGIN")
        await rival.fetch(f"SELECT 1 FROM {table} FOR UPDATE")  # noqa: S608 - named here alone
        yield rival


async def stopped(rival: Connection) -> None:
    """Until a call of the store waits for what the rival holds."""
    await until(lambda: waiting_for_locks(rival))


async def nothing_is_open(connection: Connection) -> bool:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return not await connection.fetch(f"{OURS} AND state <> 'idle'")


async def test_of_two_in_each_others_way_one_begins_again(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task())
        first, second = [each.run for each in await claim_all(store)]
        async with connected(store) as rival:
            # Whoever waits longest finds out: not this one.
            await rival.execute("SET deadlock_timeout = '1min'")
            await rival.execute("BEGIN")
            await rival.fetch("SELECT 1 FROM task_state WHERE task = (SELECT max(task) FROM task_state) FOR UPDATE")
            settling = asyncio.create_task(settle(store, first, second))
            await stopped(rival)
            await rival.fetch("SELECT 1 FROM task_state WHERE task = (SELECT min(task) FROM task_state) FOR UPDATE")
            await rival.execute("ROLLBACK")
            assert await settling == frozenset()
        assert (await get_run(store, first)).state is RunState.SUCCEEDED
        assert (await get_run(store, second)).state is RunState.SUCCEEDED
        assert await store.check() == ()


async def test_what_is_refused_costs_no_connection(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        await store.add([a_new_task(a_task(key="report"))])
        async with connected(store) as other:
            before = await other.fetch(OURS)
            for _ in range(5):
                with pytest.raises(Refusal):
                    await store.add([a_new_task(a_task(key="report"))])
            assert await other.fetch(OURS) == before
            assert await nothing_is_open(other)


async def test_a_cancelled_call_leaves_no_transaction_open(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        running = await start_run(store)
        async with in_the_way(store) as rival:
            settling = asyncio.create_task(settle(store, running))
            await stopped(rival)
            settling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await settling
            await rival.execute("ROLLBACK")
            await until(lambda: nothing_is_open(rival))
        assert (await get_run(store, running)).state is RunState.RUNNING
        assert await settle(store, running) == frozenset()


async def test_a_cancelled_question_is_not_answered_to_somebody_else(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        async with in_the_way(store, "nodes") as rival:
            asking = asyncio.create_task(store.renew_lease(NODE, NOON))
            await stopped(rival)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            # While the server is still at it.
            assert await store.read_metadata("nothing") is None
            await rival.execute("ROLLBACK")


@pytest.mark.parametrize("what", ["settle", "claim"])
async def test_a_connection_that_is_killed_in_the_middle(postgres_server: PostgresServer, what: str) -> None:
    async with opened(new_schema(postgres_server)) as store:
        (running,) = await fill_lane(store, "press", a_task())
        await add_tasks(store, a_task(lane="press"))
        async with in_the_way(store, "lanes") as rival:
            call = settle(store, running) if what == "settle" else claim_all(store)
            doing = asyncio.ensure_future(call)
            await stopped(rival)
            await rival.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'horae' AND wait_event_type = 'Lock'"
            )
            with pytest.raises(StoreUnavailable):
                await doing
            await rival.execute("ROLLBACK")
        assert (await get_run(store, running)).state is RunState.RUNNING
        assert await settle(store, running) == frozenset()
        assert len(await claim_all(store)) == 1
        assert await store.check() == ()


async def test_the_pool_recovers_when_all_its_connections_were_killed(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.new_database()) as store:
        await add_tasks(store, a_task())
        await asyncio.gather(*(store.read_metadata("nothing") for _ in range(4)))
        async with connected(store) as other:
            killed = await other.fetch(f"SELECT pg_terminate_backend(pid) FROM ({OURS}) AS ours")  # noqa: S608
            assert len(killed) > 1
        failures = 0
        for _ in range(10):
            try:
                await store.read_metadata("nothing")
            except StoreUnavailable:
                failures += 1
        # The first one may find a connection dead under its hands; all others are thrown away with it.
        assert failures <= 1


async def test_a_server_that_was_started_again_is_found_again() -> None:
    with PostgresServer() as server:
        async with opened(server.url) as store:
            running = await start_run(store)
            server.kill()
            with pytest.raises(StoreUnavailable):
                await settle(store, running)
            with pytest.raises(StoreUnavailable):
                await store.read_metadata("nothing")
            server.start()
            assert await settle(store, running) == frozenset()


async def test_other_threads_are_served_at_once(postgres_server: PostgresServer) -> None:
    """Also when several come for the first time at the same moment, and while the first event loop is busy."""

    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        start, held = threading.Barrier(5), []

        def renew() -> None:
            start.wait()
            held.append(asyncio.run(store.renew_lease(NODE, NOON)).held)

        threads = [threading.Thread(target=renew) for _ in range(4)]
        for thread in threads:
            thread.start()
        start.wait()
        # This loop stands still meanwhile, as with a target that blocks it.
        for thread in threads:
            thread.join(PATIENCE)
        assert held == [True] * 4
        assert [node.renewals for node in await store.nodes()] == [4]


async def test_a_closed_store_lets_nobody_wait(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here nor in another thread."""
    monkeypatch.setattr(connection_pool, "_DRAIN_SECONDS", 0.2)

    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        async with in_the_way(store, "nodes") as rival:
            here = asyncio.create_task(store.renew_lease(NODE, NOON))
            there = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(store.renew_lease(NODE, NOON))))
            await until(lambda: two_wait(rival))
            await store.close()
            for each in (here, there):
                with pytest.raises((StoreUnavailable, asyncio.CancelledError)):
                    await each
            await rival.execute("ROLLBACK")
        with pytest.raises(StoreUnavailable):
            await asyncio.to_thread(lambda: asyncio.run(store.renew_lease(NODE, NOON)))


async def two_wait(connection: Connection) -> bool:
    return await waiting_for_locks(connection) == 2


async def test_what_was_accepted_ends_before_the_store_is_closed(postgres_server: PostgresServer) -> None:
    url = new_schema(postgres_server)
    async with opened(url) as store:
        running = await start_run(store)
        async with in_the_way(store) as rival:
            settling = asyncio.create_task(settle(store, running))
            await stopped(rival)
            closing = asyncio.create_task(store.close())
            await rival.execute("ROLLBACK")
            assert await settling == frozenset()
            await closing
    async with opened(url) as store:
        assert (await get_run(store, running)).state is RunState.SUCCEEDED


async def test_so_many_connections_and_no_more(postgres_server: PostgresServer) -> None:
    async with opened(f"{postgres_server.new_database()}?connections=2") as store:
        task = a_task()
        await add_tasks(store, task)
        async with in_the_way(store) as rival:
            edits = [
                asyncio.create_task(
                    store.change(task.id, None, always(a_new_task(task)._replace(task=None, events=())))
                )
                for _ in range(8)
            ]
            await until(lambda: two_wait(rival))
            assert len(await rival.fetch(OURS)) == 2
            await rival.execute("ROLLBACK")
            await asyncio.gather(*edits)
        assert (await get_facts(store, task)).task == task


async def test_whoever_is_cut_off_in_a_transaction_does_not_keep_others_from_it(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tells the server that its client has gone: it has to find out by the silence."""
    monkeypatch.setitem(connection_factory._SETTINGS, "idle_in_transaction_session_timeout", "500ms")
    url = new_schema(postgres_server)

    with Proxy(postgres_server.port) as proxy:
        async with opened(url) as near, opened(proxy.through(url)) as far:
            (running,) = await fill_lane(near, "press", a_task())
            async with in_the_way(near, "lanes") as rival:
                lost = asyncio.create_task(settle(far, running))
                await stopped(rival)
                proxy.half_open()
                await rival.execute("ROLLBACK")
            assert await settle(near, running) == frozenset()
            proxy.cut()
            with pytest.raises(StoreUnavailable):
                await lost
            proxy.heal()
            assert (await get_run(far, running)).state is RunState.SUCCEEDED


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
async def test_whatever_the_server_takes_for_ordinary(postgres_server: PostgresServer, level: str) -> None:
    url = postgres_server.new_database()
    name = url.rpartition("/")[2]
    postgres_server.ask(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = '{level}'")

    stores = [PostgresStore(url) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    await stores[0].join(a_node())
    await asyncio.gather(*(store.renew_lease(NODE, NOON) for store in stores for _ in range(5)))
    assert (await stores[0].nodes())[0].renewals == 20
    for store in stores:
        await store.close()
    postgres_server.drop_database(url)
