"""Tasks in the caller's own transaction, on PostgreSQL: with a pooled or direct connection, at every isolation level."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
import pytest

from horae.errors import Refusal, StoreUnavailable
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.ports.store import TaskFilter
from horae.stores.postgres import PostgresStore
from horae.stores.postgres.shared_transactions import notification_channel
from horae.testing.contracts import CallerConnection, SharedTransactionContract
from horae.testing.factories import a_new_task, a_task
from tests.contract.postgres_databases import opened
from tests.servers.postgres import PostgresServer

PATIENCE = 60
Connection: TypeAlias = "asyncpg.Connection[Any]"


class PostgresGuest:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def run(self, statement: str) -> None:
        await self.connection.execute(statement)

    async def notes(self) -> list[str]:
        return [row["note"] for row in await self.connection.fetch("SELECT note FROM notes")]


class TestPostgresUsing(SharedTransactionContract):
    reports_transaction_end = False
    _server: PostgresServer

    @pytest.fixture(autouse=True)
    def _at(self, postgres_server: PostgresServer) -> None:
        self._server = postgres_server

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        url = self._server.new_database()
        async with opened(url) as store:
            yield store
        self._server.drop_database(url)

    @asynccontextmanager
    async def connect_as_caller(self, store: FullStore) -> AsyncIterator[CallerConnection]:
        """Return a pooled connection whose search path has tables with the same names first."""
        assert isinstance(store, PostgresStore)
        settings = {"search_path": "theirs,public"}
        pool = asyncpg.create_pool(store.address.servers.dsns[0], min_size=1, max_size=1, server_settings=settings)
        async with pool, pool.acquire() as connection:
            await connection.execute("CREATE SCHEMA IF NOT EXISTS theirs")
            for name in (
                "notes",
                "tasks",
                "task_state",
                "agenda",
                "events",
                "event_batches",
                "counter_deltas",
                "numbering",
            ):
                await connection.execute(f"CREATE TABLE IF NOT EXISTS {name} (note text)")
            yield PostgresGuest(connection)


@asynccontextmanager
async def store_and_connection(server: PostgresServer) -> AsyncIterator[tuple[PostgresStore, Connection]]:
    url = server.new_database()
    async with asyncio.timeout(PATIENCE):
        async with opened(url) as store:
            connection = await asyncpg.connect(store.address.servers.dsns[0])
            try:
                yield store, connection
            finally:
                connection.terminate()
    server.drop_database(url)


async def add(store: PostgresStore, connection: object, task: Task) -> None:
    await store.add_using(connection, [a_new_task(task)], lambda: None)


async def refused(store: PostgresStore, connection: object, task: Task | None = None) -> str:
    with pytest.raises(Refusal) as refusal:
        await add(store, connection, task or a_task())
    assert refusal.value.hint
    assert refusal.value.in_language("zh").hint
    return refusal.value.code


async def stored_tasks(store: PostgresStore) -> list[Task]:
    return [facts.task for facts in (await store.tasks(TaskFilter())).items]


async def test_transaction_begun_by_the_driver_is_accepted(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        first, second = a_task(key="report"), a_task()
        async with connection.transaction():
            await add(store, connection, first)
            async with connection.transaction():
                assert await refused(store, connection, a_task(key="report")) == "key_taken"
                await add(store, connection, second)
        assert await stored_tasks(store) == [first, second]


async def test_uncommitted_key_of_another_transaction_is_waited_for(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        other = await asyncpg.connect(store.address.servers.dsns[0])
        await connection.execute("BEGIN")
        await other.execute("BEGIN")
        await add(store, connection, a_task(key="report"))
        waiting = asyncio.create_task(refused(store, other, a_task(key="report")))
        await waits_for_a_lock(connection, other.get_server_pid())
        await connection.execute("COMMIT")
        assert await waiting == "key_taken"
        await add(store, other, a_task(key="another"))
        await other.execute("COMMIT")
        assert [task.key for task in await stored_tasks(store)] == ["report", "another"]
        other.terminate()


async def waits_for_a_lock(connection: Connection, pid: int) -> None:
    while await connection.fetchval("SELECT cardinality(pg_blocking_pids($1))", pid) == 0:
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
async def test_key_taken_after_the_snapshot_is_refused(postgres_server: PostgresServer, level: str) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        await connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        await connection.fetch("SELECT 1 FROM horae.tasks")
        await store.add([a_new_task(a_task(key="report"))])
        assert await refused(store, connection, a_task(key="report")) in ("key_taken", "busy_transaction")
        assert await connection.fetchval("SELECT 1") == 1
        await connection.execute("ROLLBACK")
        assert len(await stored_tasks(store)) == 1


async def test_failed_transaction_is_refused_with_its_own_code(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        await connection.execute("BEGIN")
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute("SELECT nothing")
        assert await refused(store, connection) == "failed_transaction"
        await connection.execute("ROLLBACK")
        assert await stored_tasks(store) == []


async def test_read_only_transaction_is_refused(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        await connection.execute("BEGIN READ ONLY")
        with pytest.raises(StoreUnavailable, match="read-only"):
            await add(store, connection, a_task())
        assert await connection.fetchval("SELECT 1") == 1


async def test_a_connection_of_another_event_loop_is_refused(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        await connection.execute("BEGIN")

        def elsewhere() -> str:
            return asyncio.run(refused(store, connection))

        assert await asyncio.to_thread(elsewhere) == "another_thread"
        await add(store, connection, a_task())


async def test_listeners_are_notified_at_the_commit_and_not_before(postgres_server: PostgresServer) -> None:
    async with store_and_connection(postgres_server) as (store, connection):
        listener = await asyncpg.connect(store.address.servers.dsns[0])
        notifications: asyncio.Queue[str] = asyncio.Queue()
        await listener.add_listener(
            notification_channel(store.address.schema), lambda *_: notifications.put_nowait("ring")
        )
        await connection.execute("BEGIN")
        await add(store, connection, a_task())
        await connection.execute("ROLLBACK")
        await connection.execute("BEGIN")
        await add(store, connection, a_task())
        # A notification sent earlier would arrive together with this answer.
        await listener.execute("SELECT 1")
        assert notifications.empty()
        await connection.execute("COMMIT")
        assert await notifications.get() == "ring"
        assert len(await stored_tasks(store)) == 1
        listener.terminate()
