"""Migrations on MySQL: applied once by concurrent starts, and continued after a crash."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

import pytest

from horae.errors import UnusableStore
from horae.ports.records import Record
from horae.ports.store import TaskFilter
from horae.ports.transfer import Part
from horae.stores.mysql import MySQLStore, migrate
from horae.stores.mysql.address import Address
from horae.stores.named_sql import read_migrations
from horae.testing.contracts.stores.setup import get_facts
from horae.testing.factories import NOON, a_new_task, a_task
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import new_prefix, open_store
from tests.unit.stores.schema_upgrade import copy_statement

DATABASE = "prefixes"
ROOM = "horae.stores.mysql"


def tables(server: MariaDBServer, url: str) -> list[str]:
    prefix = Address.parse(url).prefix
    found = server.ask(f"SHOW TABLES LIKE '{prefix}%'", database=DATABASE).split()
    return sorted(name.removeprefix(prefix) for name in found)


async def test_concurrent_opens_migrate_once(mariadb_server: MariaDBServer) -> None:
    url = new_prefix(mariadb_server)

    stores = [MySQLStore(url) for _ in range(5)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(store.add([a_new_task(a_task())]) for store in stores))
    assert await stores[0].check() == ()
    assert (await stores[0].count_parts())[Part.TASKS] == 5
    for store in stores:
        await store.close()
    prefix = Address.parse(url).prefix
    taken = mariadb_server.ask(f"SELECT number FROM {prefix}migrations ORDER BY number", database=DATABASE)  # noqa: S608
    assert [int(number) for number in taken.split()] == [number for number, _ in read_migrations(ROOM)]


async def only_migrated(url: str, monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Apply the migrations up to a number without reading: statements of this version need the newest schema."""
    steps = read_migrations(ROOM)
    with monkeypatch.context() as older:
        older.setattr(migrate, "read_migrations", lambda _: steps[:last])
        await MySQLStore(url)._prepare()


async def test_migration_continues_after_a_crash_at_any_statement(
    mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = new_prefix(mariadb_server)
    await only_migrated(whole, monkeypatch, 1)
    first = tables(mariadb_server, whole)
    assert set(re.findall(r"EXISTS @(\w+)", read_migrations(ROOM)[0][1])) == set(first) - {"migrations"}
    async with open_store(whole):
        expected = tables(mariadb_server, whole)
    for lost in (first[-1], first[len(first) // 2], first[0]):
        url = new_prefix(mariadb_server)
        await only_migrated(url, monkeypatch, 1)
        prefix = Address.parse(url).prefix
        gone = [name for name in first if name >= lost and name != "migrations"]
        orders = [f"TRUNCATE {prefix}migrations", *(f"DROP TABLE {prefix}{name}" for name in gone)]
        mariadb_server.ask("; ".join(orders), database=DATABASE)
        async with open_store(url) as store:
            await check_new_store(store)
        assert tables(mariadb_server, url) == expected


async def test_store_of_an_older_version_is_upgraded(
    mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, newer = new_prefix(mariadb_server), new_prefix(mariadb_server)
    prefix, task = Address.parse(url).prefix, a_task(labels=(("room", "a"), ("Straße", '"\\')))
    old = Record("token", "old", "ada", '"kept"', 3)
    await only_migrated(url, monkeypatch, 1)
    async with open_store(newer) as store:
        await store.add([a_new_task(task), a_new_task(a_task())])
    for table in ("tasks", "standings", "agenda"):
        names = mariadb_server.ask(
            "SELECT column_name FROM information_schema.columns WHERE generation_expression IS NULL"  # noqa: S608
            f" AND table_name = '{prefix}{table}'",
            database=DATABASE,
        )
        order = copy_statement(table, names.split(), prefix, Address.parse(newer).prefix)
        mariadb_server.ask(order, database=DATABASE)
    counted = "('ada', 0, 'state:active', 2), ('', 0, 'state:active', 2)"
    mariadb_server.ask(f"INSERT INTO {prefix}tallies VALUES {counted}", database=DATABASE)  # noqa: S608
    columns, values = "kind, record_key, owner, body, version", "'token', 'old', 'ada', '\"kept\"', 3"
    mariadb_server.ask(f"INSERT INTO {prefix}records ({columns}) VALUES ({values})", database=DATABASE)  # noqa: S608
    async with open_store(url) as store:
        assert (await get_facts(store, task)).task == task
        for each in task.labels:
            (found,) = (await store.tasks(TaskFilter(labels=(each,)))).items
            assert found.task == task
        assert await store.put_record(old._replace(key="new", expires=NOON), replacing=None)
        assert await store.drop_expired(NOON, 10) == 1
        assert (await store.records("token", "ada")).items == (old,)
        assert await store.check() == ()


@pytest.mark.parametrize("number", [number for number, _ in read_migrations(ROOM)[1:]])
async def test_unrecorded_migration_step_is_repeated(
    mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The crash came between the step and its record: the column exists already."""
    url = new_prefix(mariadb_server)
    await only_migrated(url, monkeypatch, number)
    order = f"DELETE FROM {Address.parse(url).prefix}migrations WHERE number = {number}"  # noqa: S608
    mariadb_server.ask(order, database=DATABASE)
    async with open_store(url) as store:
        await check_new_store(store)


async def check_new_store(store: MySQLStore) -> None:
    await store.add([a_new_task(a_task())])
    assert (await store.last_event(), await store.check()) == (1, ())


async def test_two_prefixes_share_a_database(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as one, open_store(new_prefix(mariadb_server)) as other:
        await one.write_metadata("name", "one")
        assert await other.read_metadata("name") is None


async def test_newer_schema_is_refused_and_unchanged(mariadb_server: MariaDBServer) -> None:
    url = new_prefix(mariadb_server)
    async with open_store(url):
        pass
    prefix = Address.parse(url).prefix
    mariadb_server.ask(f"INSERT INTO {prefix}migrations VALUES (999)", database=DATABASE)  # noqa: S608
    with pytest.raises(UnusableStore) as refusal:
        async with open_store(url):
            pass
    assert refusal.value.code == "store_newer"
    assert "999" in refusal.value.message


@pytest.mark.parametrize("table", ["tasks (id INT)", "migrations (id INT, migration TEXT)"])
async def test_tables_of_another_program_are_unchanged(mariadb_server: MariaDBServer, table: str) -> None:
    url = new_prefix(mariadb_server)
    mariadb_server.ask(f"CREATE TABLE {Address.parse(url).prefix}{table}", database=DATABASE)
    with pytest.raises(UnusableStore) as refusal:
        async with open_store(url):
            pass
    assert refusal.value.code == "store_tables_not_ours"
    assert tables(mariadb_server, url) == [table.split(maxsplit=1)[0]]


async def test_default_character_set_of_the_database_does_not_matter(mariadb_server: MariaDBServer) -> None:
    url = mariadb_server.new_database(collation="latin1_swedish_ci")

    async with open_store(url) as store:
        await store.write_metadata("名前", "🌱")
        assert await store.read_metadata("名前") == "🌱"
        assert await store.check() == ()
    assert urlsplit(url).path
    mariadb_server.drop_database(url)
