"""Databases of the contract tests: nothing of an earlier test appears after a wipe."""

from __future__ import annotations

import asyncpg

from horae.clock import SystemClock
from horae.ports.store import TaskFilter
from horae.stores.mysql.address import Address
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.factories import a_task
from tests.contract import mariadb_databases, postgres_databases
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer


async def test_open_transaction_of_an_earlier_test_holds_no_locks_on_mariadb(mariadb_server: MariaDBServer) -> None:
    pool = mariadb_databases.DatabasePool(mariadb_server)
    async with pool.empty() as url, mariadb_databases.opened(url) as store:
        await add_tasks(store, a_task())
    left = await MySQLConnectionFactory(Address.parse(url), SystemClock()).open_raw()
    async with left.cursor() as cursor:
        await cursor.execute("START TRANSACTION; DELETE FROM horae_tasks")
    async with pool.empty() as again, mariadb_databases.opened(again) as store:
        assert again == url
        assert (await store.tasks(TaskFilter())).items == ()
    left.close()


async def test_open_transaction_of_an_earlier_test_holds_no_locks_on_postgres(postgres_server: PostgresServer) -> None:
    pool = postgres_databases.DatabasePool(postgres_server)
    async with pool.empty() as url, postgres_databases.opened(url) as store:
        await add_tasks(store, a_task())
    left = await asyncpg.connect(url)
    await left.execute("BEGIN; DELETE FROM horae.tasks")
    async with pool.empty() as again, postgres_databases.opened(again) as store:
        assert again == url
        assert (await store.tasks(TaskFilter())).items == ()
    left.terminate()
