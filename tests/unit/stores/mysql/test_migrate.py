"""The tables are made once, by whoever comes first; a crash in the middle and company at the same moment do no harm."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

import pytest

from horae.errors import UnusableStore
from horae.ports.moving import Part
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.address import Address
from horae.stores.named_sql import read_steps
from horae.testing.factories import a_new_task, a_task
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.opening import new_prefix, opened, played, run

DATABASE = "prefixes"


def tables(server: MariaDBServer, url: str) -> list[str]:
    prefix = Address.parsed(url).prefix
    found = server.ask(f"SHOW TABLES LIKE '{prefix}%'", database=DATABASE).split()
    return sorted(name.removeprefix(prefix) for name in found)


def test_many_open_it_at_the_same_moment(mariadb_server: MariaDBServer) -> None:
    url = new_prefix(mariadb_server)

    async def scene() -> None:
        stores = [MySQLStore(url) for _ in range(5)]
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.add([a_new_task(a_task())]) for store in stores))
        assert await stores[0].check() == ()
        assert (await stores[0].stock())[Part.TASKS] == 5
        for store in stores:
            await store.close()

    run(scene())
    prefix = Address.parsed(url).prefix
    assert mariadb_server.ask(f"SELECT number FROM {prefix}migrations", database=DATABASE) == "1"  # noqa: S608


def test_a_crash_after_any_statement_is_made_good(mariadb_server: MariaDBServer) -> None:
    whole = new_prefix(mariadb_server)
    played(whole, _nothing)
    expected = tables(mariadb_server, whole)
    (script,) = [text for _, text in read_steps("horae.stores.mysql")]
    assert set(re.findall(r"EXISTS @(\w+)", script)) == set(expected) - {"migrations"}
    for lost in (expected[-1], expected[len(expected) // 2], expected[0]):
        url = new_prefix(mariadb_server)
        played(url, _nothing)
        prefix = Address.parsed(url).prefix
        gone = [name for name in expected if name >= lost and name != "migrations"]
        orders = [f"TRUNCATE {prefix}migrations", *(f"DROP TABLE {prefix}{name}" for name in gone)]
        mariadb_server.ask("; ".join(orders), database=DATABASE)
        played(url, _is_sound)
        assert tables(mariadb_server, url) == expected


async def _nothing(_: MySQLStore) -> None:
    pass


async def _is_sound(store: MySQLStore) -> None:
    await store.add([a_new_task(a_task())])
    assert (await store.last_event(), await store.check()) == (1, ())


def test_two_deployments_share_a_database(mariadb_server: MariaDBServer) -> None:
    async def scene() -> None:
        async with opened(new_prefix(mariadb_server)) as one, opened(new_prefix(mariadb_server)) as other:
            await one.remember("name", "one")
            assert await other.recall("name") is None

    run(scene())


def test_what_a_newer_version_wrote_is_left_alone(mariadb_server: MariaDBServer) -> None:
    url = new_prefix(mariadb_server)
    played(url, _nothing)
    prefix = Address.parsed(url).prefix
    mariadb_server.ask(f"INSERT INTO {prefix}migrations VALUES (999)", database=DATABASE)  # noqa: S608
    with pytest.raises(UnusableStore) as refusal:
        played(url, _nothing)
    assert refusal.value.code == "store_newer"
    assert "999" in refusal.value.message


@pytest.mark.parametrize("table", ["tasks (id INT)", "migrations (id INT, migration TEXT)"])
def test_tables_of_another_program_are_left_alone(mariadb_server: MariaDBServer, table: str) -> None:
    url = new_prefix(mariadb_server)
    mariadb_server.ask(f"CREATE TABLE {Address.parsed(url).prefix}{table}", database=DATABASE)
    with pytest.raises(UnusableStore) as refusal:
        played(url, _nothing)
    assert refusal.value.code == "store_tables_not_ours"
    assert tables(mariadb_server, url) == [table.split(maxsplit=1)[0]]


def test_the_character_set_of_the_database_does_not_matter(mariadb_server: MariaDBServer) -> None:
    url = mariadb_server.new_database(collation="latin1_swedish_ci")

    async def scene(store: MySQLStore) -> None:
        await store.remember("名前", "🌱")
        assert await store.recall("名前") == "🌱"
        assert await store.check() == ()

    played(url, scene)
    assert urlsplit(url).path
    mariadb_server.drop_database(url)
