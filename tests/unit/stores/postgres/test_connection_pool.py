"""Connection pool and transactions of PostgreSQL: deadlocks, cancellation, lost connections, threads and close."""

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
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.store_setup import (
    TIMEOUT_SECONDS,
    Connection,
    count_blocked,
    new_schema,
    open_connection,
    open_store,
)

OWN_SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'horae' AND datname = current_database()"


@asynccontextmanager
async def lock_table(store: PostgresStore, table: str = "task_state") -> AsyncIterator[Connection]:
    """Open a rival session that locks every row of a table until it rolls back."""
    async with open_connection(store) as rival:
        await rival.execute("BEGIN")
        await rival.fetch(f"SELECT 1 FROM {table} FOR UPDATE")  # noqa: S608 - constant names
        yield rival


async def wait_until_blocked(rival: Connection) -> None:
    """Wait until a call of the store waits for a lock of the rival."""
    await wait_until(lambda: count_blocked(rival))


async def is_idle(connection: Connection) -> bool:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return not await connection.fetch(f"{OWN_SESSIONS} AND state <> 'idle'")


async def test_deadlocked_transaction_is_retried(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task())
        first, second = [each.run for each in await claim_all(store)]
        async with open_connection(store) as rival:
            # The session with the shorter timeout detects the deadlock: not this one.
            await rival.execute("SET deadlock_timeout = '1min'")
            await rival.execute("BEGIN")
            await rival.fetch("SELECT 1 FROM task_state WHERE task = (SELECT max(task) FROM task_state) FOR UPDATE")
            settling = asyncio.create_task(settle(store, first, second))
            await wait_until_blocked(rival)
            await rival.fetch("SELECT 1 FROM task_state WHERE task = (SELECT min(task) FROM task_state) FOR UPDATE")
            await rival.execute("ROLLBACK")
            assert await settling == frozenset()
        assert (await get_run(store, first)).state is RunState.SUCCEEDED
        assert (await get_run(store, second)).state is RunState.SUCCEEDED
        assert await store.check() == ()


async def test_refused_call_keeps_its_connection(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.add([a_new_task(a_task(key="report"))])
        async with open_connection(store) as other:
            before = await other.fetch(OWN_SESSIONS)
            for _ in range(5):
                with pytest.raises(Refusal):
                    await store.add([a_new_task(a_task(key="report"))])
            assert await other.fetch(OWN_SESSIONS) == before
            assert await is_idle(other)


async def test_cancelled_call_leaves_no_transaction_open(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        running = await start_run(store)
        async with lock_table(store) as rival:
            settling = asyncio.create_task(settle(store, running))
            await wait_until_blocked(rival)
            settling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await settling
            await rival.execute("ROLLBACK")
            await wait_until(lambda: is_idle(rival))
        assert (await get_run(store, running)).state is RunState.RUNNING
        assert await settle(store, running) == frozenset()


async def test_cancelled_query_does_not_answer_another_call(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        async with lock_table(store, "nodes") as rival:
            asking = asyncio.create_task(store.renew_lease(NODE, NOON))
            await wait_until_blocked(rival)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            # The server still executes the cancelled query.
            assert await store.read_metadata("nothing") is None
            await rival.execute("ROLLBACK")


@pytest.mark.parametrize("what", ["settle", "claim"])
async def test_connection_killed_in_a_transaction_is_reported(postgres_server: PostgresServer, what: str) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        (running,) = await fill_lane(store, "press", a_task())
        await add_tasks(store, a_task(lane="press"))
        async with lock_table(store, "lanes") as rival:
            call = settle(store, running) if what == "settle" else claim_all(store)
            doing = asyncio.ensure_future(call)
            await wait_until_blocked(rival)
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


async def test_pool_recovers_after_all_connections_were_killed(postgres_server: PostgresServer) -> None:
    async with open_store(postgres_server.new_database()) as store:
        await add_tasks(store, a_task())
        await asyncio.gather(*(store.read_metadata("nothing") for _ in range(4)))
        async with open_connection(store) as other:
            killed = await other.fetch(f"SELECT pg_terminate_backend(pid) FROM ({OWN_SESSIONS}) AS ours")  # noqa: S608
            assert len(killed) > 1
        failures = 0
        for _ in range(10):
            try:
                await store.read_metadata("nothing")
            except StoreUnavailable:
                failures += 1
        # The first call may use a dead connection; the pool then drops all others.
        assert failures <= 1


async def test_store_reconnects_after_a_server_restart() -> None:
    with PostgresServer() as server:
        async with open_store(server.url) as store:
            running = await start_run(store)
            server.kill()
            with pytest.raises(StoreUnavailable):
                await settle(store, running)
            with pytest.raises(StoreUnavailable):
                await store.read_metadata("nothing")
            server.start()
            assert await settle(store, running) == frozenset()


async def test_calls_from_other_threads_do_not_wait_for_the_first_loop(postgres_server: PostgresServer) -> None:
    """Several threads call for the first time at once, while the first event loop is blocked."""

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        start, held = threading.Barrier(5), []

        def renew() -> None:
            start.wait()
            held.append(asyncio.run(store.renew_lease(NODE, NOON)).held)

        threads = [threading.Thread(target=renew) for _ in range(4)]
        for thread in threads:
            thread.start()
        start.wait()
        # This loop is blocked meanwhile, as by a blocking target.
        for thread in threads:
            thread.join(TIMEOUT_SECONDS)
        assert held == [True] * 4
        assert [node.renewals for node in await store.nodes()] == [4]


async def test_close_ends_waiting_calls(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this thread and in another one."""
    monkeypatch.setattr(connection_pool, "_DRAIN_SECONDS", 0.2)

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        async with lock_table(store, "nodes") as rival:
            here = asyncio.create_task(store.renew_lease(NODE, NOON))
            there = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(store.renew_lease(NODE, NOON))))
            await wait_until(lambda: are_two_blocked(rival))
            await store.close()
            for each in (here, there):
                with pytest.raises((StoreUnavailable, asyncio.CancelledError)):
                    await each
            await rival.execute("ROLLBACK")
        with pytest.raises(StoreUnavailable):
            await asyncio.to_thread(lambda: asyncio.run(store.renew_lease(NODE, NOON)))


async def are_two_blocked(connection: Connection) -> bool:
    return await count_blocked(connection) == 2


async def test_close_waits_for_accepted_calls(postgres_server: PostgresServer) -> None:
    url = new_schema(postgres_server)
    async with open_store(url) as store:
        running = await start_run(store)
        async with lock_table(store) as rival:
            settling = asyncio.create_task(settle(store, running))
            await wait_until_blocked(rival)
            closing = asyncio.create_task(store.close())
            await rival.execute("ROLLBACK")
            assert await settling == frozenset()
            await closing
    async with open_store(url) as store:
        assert (await get_run(store, running)).state is RunState.SUCCEEDED


async def test_pool_size_is_not_exceeded(postgres_server: PostgresServer) -> None:
    async with open_store(f"{postgres_server.new_database()}?connections=2") as store:
        task = a_task()
        await add_tasks(store, task)
        async with lock_table(store) as rival:
            edits = [
                asyncio.create_task(
                    store.change(task.id, None, always(a_new_task(task)._replace(task=None, events=())))
                )
                for _ in range(8)
            ]
            await wait_until(lambda: are_two_blocked(rival))
            assert len(await rival.fetch(OWN_SESSIONS)) == 2
            await rival.execute("ROLLBACK")
            await asyncio.gather(*edits)
        assert (await get_facts(store, task)).task == task


async def test_transaction_of_a_lost_client_is_ended_by_the_server(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not learn that its client is gone: only the idle timeout ends the transaction."""
    monkeypatch.setitem(connection_factory._SETTINGS, "idle_in_transaction_session_timeout", "500ms")
    url = new_schema(postgres_server)

    with Proxy(postgres_server.port) as proxy:
        async with open_store(url) as near, open_store(proxy.through(url)) as far:
            (running,) = await fill_lane(near, "press", a_task())
            async with lock_table(near, "lanes") as rival:
                lost = asyncio.create_task(settle(far, running))
                await wait_until_blocked(rival)
                proxy.half_open()
                await rival.execute("ROLLBACK")
            assert await settle(near, running) == frozenset()
            proxy.cut()
            with pytest.raises(StoreUnavailable):
                await lost
            proxy.heal()
            assert (await get_run(far, running)).state is RunState.SUCCEEDED


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
async def test_default_isolation_level_of_the_database_does_not_matter(
    postgres_server: PostgresServer, level: str
) -> None:
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
