"""Migration 0004 (table renames) on MySQL: keeps all data, and is finished by the next start after a kill."""

from __future__ import annotations

from typing import Any, Final

import pytest

from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.model.ids import to_microseconds
from horae.stores.mysql import MySQLStore, migrate
from horae.stores.mysql.address import Address
from horae.stores.named_sql import read_migrations
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import new_prefix, open_store
from tests.unit.stores.mysql.test_migrate import DATABASE, tables
from tests.unit.stores.schema_upgrade import read_before, read_now, rows_of, settle_all_held

PACKAGE: Final = "horae.stores.mysql"
OLD: Final = 3
STATEMENTS: Final = 22
"""Statements of the migration."""


class Killed(Exception):  # noqa: N818 - not an error of the server
    pass


@pytest.fixture
async def old_tables(mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch) -> str:
    url = new_prefix(mariadb_server)
    steps = read_migrations(PACKAGE)
    with monkeypatch.context() as older:
        older.setattr(migrate, "read_migrations", lambda _: steps[:OLD])
        store = MySQLStore(url)
        await store.open()
        await store.close()
    mariadb_server.ask(rows_of("mysql").replace("@", Address.parse(url).prefix), database=DATABASE)
    return url


def renew(server: MariaDBServer, url: str) -> None:
    now = to_microseconds(SystemClock().now())
    prefix = Address.parse(url).prefix
    server.ask(f"UPDATE {prefix}nodes SET renewed = {now} WHERE id = 'node-2'", database=DATABASE)  # noqa: S608


async def test_upgrade_keeps_all_data(old_tables: str) -> None:
    async with open_store(old_tables) as store:
        assert await read_now(store) == read_before("mysql")
        await settle_all_held(store)


async def test_upgraded_tables_equal_those_of_a_new_store(old_tables: str, mariadb_server: MariaDBServer) -> None:
    new = new_prefix(mariadb_server)
    async with open_store(old_tables), open_store(new):
        assert tables(mariadb_server, old_tables) == tables(mariadb_server, new)
    assert not {"standings", "going", "barred", "seats"} & set(tables(mariadb_server, new))


async def test_upgrade_is_refused_while_an_older_node_holds_a_lease(
    old_tables: str, mariadb_server: MariaDBServer
) -> None:
    renew(mariadb_server, old_tables)
    before = tables(mariadb_server, old_tables)
    with pytest.raises(UnusableStore) as refused:
        async with open_store(old_tables):
            pass
    assert refused.value.code == "store_nodes_running"
    assert "node-2 (0.1.0)." in refused.value.message
    assert tables(mariadb_server, old_tables) == before


@pytest.mark.parametrize("done", range(STATEMENTS + 1))
async def test_upgrade_killed_after_any_statement_is_finished_by_the_next_start(
    old_tables: str, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    execute = migrate._execute
    executed = 0

    async def execute_or_die(connection: Any, statement: str) -> None:
        nonlocal executed
        if executed == done:
            raise Killed
        executed += 1
        await execute(connection, statement)

    with monkeypatch.context() as dying:
        dying.setattr(migrate, "_execute", execute_or_die)
        with pytest.raises(Killed):
            await MySQLStore(old_tables).open()
    assert executed == done
    async with open_store(old_tables) as store:
        assert await read_now(store) == read_before("mysql")


async def test_older_version_refuses_the_upgraded_tables(old_tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(old_tables):
        pass
    steps = read_migrations(PACKAGE)
    monkeypatch.setattr(migrate, "read_migrations", lambda _: steps[:OLD])
    with pytest.raises(UnusableStore) as refused:
        async with open_store(old_tables):
            pass
    assert refused.value.code == "store_newer"
