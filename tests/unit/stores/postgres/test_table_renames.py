"""Migration 0005 (table renames) on PostgreSQL: keeps all data, in one transaction."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.model.ids import to_microseconds
from horae.stores.named_sql import read_migrations
from horae.stores.postgres import PostgresStore, migrate
from horae.stores.postgres.connection_factory import qualify_tables
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.store_setup import TIMEOUT_SECONDS, new_schema, open_connection, open_store
from tests.unit.stores.postgres.test_migrate import shape, start
from tests.unit.stores.schema_upgrade import read_before, read_now, rows_of, settle_all_held

PACKAGE: Final = "horae.stores.postgres"
OLD: Final = 4
MARKER_TABLES: Final = frozenset({"migrations", "numbering", "standings", "agenda"})
"""Tables by which the previous version recognises its schema."""
STOP_BEFORE_THE_COMMIT: Final = """
import asyncio, sys
from horae.stores.postgres import PostgresStore, migrate
take = migrate._apply
async def take_and_stop(connection, schema, number, script):
    await take(connection, schema, number, script)
    print(number, flush=True)
    await asyncio.Event().wait()
migrate._apply = take_and_stop
asyncio.run(PostgresStore(sys.argv[1]).open())
"""


@pytest.fixture
async def old_schema(postgres_server: PostgresServer) -> str:
    url = new_schema(postgres_server)
    store = PostgresStore(url)
    schema = store.address.schema
    async with open_connection(store) as connection:
        await connection.execute(
            f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.migrations (number integer PRIMARY KEY)"
        )
        for number, script in read_migrations(PACKAGE)[:OLD]:
            await connection.execute(qualify_tables(script, schema))
            await connection.execute("INSERT INTO migrations VALUES ($1)", number)
        await connection.execute(qualify_tables(rows_of("postgres"), schema))
    return url


async def test_upgrade_keeps_all_data(old_schema: str) -> None:
    async with open_store(old_schema) as store:
        assert await read_now(store) == read_before("postgres")
        await settle_all_held(store)


async def test_upgraded_schema_is_that_of_a_new_store(old_schema: str, postgres_server: PostgresServer) -> None:
    async with open_store(old_schema) as upgraded, open_store(new_schema(postgres_server)) as new:
        assert await shape(upgraded) == await shape(new)


async def test_upgrade_is_refused_while_an_older_node_holds_a_lease(old_schema: str) -> None:
    store = PostgresStore(old_schema)
    async with open_connection(store) as connection:
        await connection.execute(
            "UPDATE nodes SET renewed = $1 WHERE id = 'node-2'", to_microseconds(SystemClock().now())
        )
        before = await shape(store)
        with pytest.raises(UnusableStore) as refused:
            await store.open()
        assert refused.value.code == "store_nodes_running"
        assert "node-2 (0.1.0)." in refused.value.message
        assert await shape(store) == before
        await connection.execute("DELETE FROM nodes WHERE id = 'node-2'")
    async with open_store(old_schema) as upgraded:
        assert [node.id for node in await upgraded.nodes()] == ["node-1"]


async def test_killed_upgrade_leaves_the_old_schema_and_the_next_start_finishes(old_schema: str) -> None:
    before = await shape(PostgresStore(old_schema))
    process = start(STOP_BEFORE_THE_COMMIT, old_schema)
    assert process.stdout is not None
    assert process.stdout.readline() == f"{OLD + 1}\n"
    process.kill()
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert await shape(PostgresStore(old_schema)) == before
    async with open_store(old_schema) as store:
        assert await read_now(store) == read_before("postgres")


async def test_several_nodes_start_the_upgrade_at_once(old_schema: str) -> None:
    stores = [PostgresStore(old_schema) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    assert await read_now(stores[0]) == read_before("postgres")
    await asyncio.gather(*(store.close() for store in stores))


async def test_older_version_refuses_the_upgraded_schema(old_schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(old_schema):
        pass
    steps = read_migrations(PACKAGE)
    monkeypatch.setattr(migrate, "read_migrations", lambda _: steps[:OLD])
    monkeypatch.setattr(migrate, "_MARKER_TABLES", MARKER_TABLES)
    with pytest.raises(UnusableStore) as refused:
        await PostgresStore(old_schema).open()
    assert refused.value.code == "store_newer"
