"""Migrations on PostgreSQL: concurrent starts, rollback, and upgrades while nodes run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Final

import pytest

from horae.errors import StoreError, StoreUnavailable, UnusableStore
from horae.model.limits import CLAIM_SLICE
from horae.ports.records import Record
from horae.ports.store import TaskFilter
from horae.stores.named_sql import read_migrations
from horae.stores.postgres import PostgresStore, connection_factory, migrate
from horae.testing.contracts.stores.setup import add_tasks, claim_all, get_facts, settle
from horae.testing.factories import NODE, NOON, a_node, a_task
from tests.servers.postgres import PostgresServer
from tests.servers.server import ROOT
from tests.sizes import sized
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.store_setup import TIMEOUT_SECONDS, new_schema, open_connection, open_store
from tests.unit.stores.schema_upgrade import copy_statement

PROCESSES = sized(4, soak=8)

ROOM: Final = "horae.stores.postgres"
OPEN_IN_A_PROCESS: Final = """
import asyncio, sys
from horae.stores.postgres import PostgresStore
async def main():
    store = PostgresStore(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    await store.write_metadata("who", sys.argv[2])
    await store.close()
asyncio.run(main())
"""
STOP_IN_THE_MIDDLE: Final = """
import asyncio, sys
from horae.stores.postgres import PostgresStore, migrate
take = migrate._apply
async def take_and_stop(connection, schema, number, script):
    await take(connection, schema, number, script)
    print("taken", flush=True)
    await asyncio.Event().wait()
migrate._apply = take_and_stop
asyncio.run(PostgresStore(sys.argv[1]).open())
"""
SHAPE: Final = """
SELECT 'column', table_name, column_name, data_type || coalesce(collation_name, '') || is_nullable || coalesce(column_default, '')
FROM information_schema.columns WHERE table_schema = $1
UNION ALL
SELECT 'index', tablename, indexname, replace(indexdef, $1 || '.', '') FROM pg_indexes WHERE schemaname = $1
UNION ALL
SELECT 'sequence', sequencename, '', '' FROM pg_sequences WHERE schemaname = $1
"""
NEWER: Final = (
    "ALTER TABLE @tasks ADD COLUMN newer text; ALTER TABLE @agenda ADD COLUMN newer text; "
    "ALTER TABLE @live_runs ADD COLUMN newer text; ALTER TABLE @runs ADD COLUMN newer text; "
    "ALTER TABLE @events ADD COLUMN newer text; ALTER TABLE @nodes ADD COLUMN newer text; "
    "ALTER TABLE @task_state ADD COLUMN newer text; CREATE TABLE @more (a integer)"
)


async def shape(store: PostgresStore) -> set[tuple[str, ...]]:
    async with open_connection(store) as connection:
        rows = await connection.fetch(SHAPE, store.address.schema)
    return {tuple(str(value).replace(f"{store.address.schema}.", "") for value in row) for row in rows}


async def only_migrated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the known migrations without reading: statements of this version need the newest schema."""

    async def leave_numbers(_: object, __: str) -> None:
        pass

    with monkeypatch.context() as older:
        older.setattr(migrate, "_adjust_event_numbers", leave_numbers)
        await PostgresStore(url)._prepare()


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [number for number, _ in read_migrations(ROOM)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_stepwise_and_full_migration_give_the_same_schema(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [*read_migrations(ROOM), (len(read_migrations(ROOM)) + 1, NEWER)]
    one_by_one, at_once = new_schema(postgres_server), new_schema(postgres_server)

    for last in range(1, len(steps) + 1):
        monkeypatch.setattr(migrate, "read_migrations", lambda _, last=last: steps[:last])
        await only_migrated(one_by_one, monkeypatch)
    async with open_store(one_by_one) as first, open_store(at_once) as second:
        assert await shape(first) == await shape(second)
        assert {name for kind, name, *_ in await shape(first) if kind == "column"} > {
            "tasks",
            "agenda",
            "runs",
            "more",
        }


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize("known", ["nothing", "the schema"])
async def test_processes_open_an_empty_database_concurrently(postgres_server: PostgresServer, known: str) -> None:
    url = postgres_server.new_database()
    if known == "the schema":
        postgres_server.ask("CREATE SCHEMA horae", database=url.rpartition("/")[2])
    processes = [start(OPEN_IN_A_PROCESS, url, str(number)) for number in range(PROCESSES)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), errors

    async with open_store(url) as store:
        assert await store.read_metadata("who") in set(map(str, range(PROCESSES)))
        assert await store.check() == ()
    postgres_server.drop_database(url)


async def test_store_objects_open_an_empty_schema_concurrently(postgres_server: PostgresServer) -> None:
    for _ in range(5):
        url = new_schema(postgres_server)
        stores = [PostgresStore(url) for _ in range(8)]
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.close() for store in stores))


async def test_two_schemas_are_independent(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as first, open_store(new_schema(postgres_server)) as second:
        for store in (first, second):
            await store.join(a_node())
            await add_tasks(store, a_task(key="report"), a_task())
        (one, other) = [each.run for each in await claim_all(first)]
        await settle(first, one, other)
        assert len((await second.tasks(TaskFilter())).items) == 2
        assert len(await second.events(0)) == 2
        assert len(await first.events(0)) > 2
        assert len(await claim_all(second)) == 2
        await first.leave(NODE)
        assert len(await second.nodes()) == 1
        assert await first.check() == await second.check() == ()


async def test_process_killed_during_a_migration_leaves_nothing(postgres_server: PostgresServer) -> None:
    url = new_schema(postgres_server)
    process = start(STOP_IN_THE_MIDDLE, url)
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    process.kill()
    process.communicate(timeout=TIMEOUT_SECONDS)

    async with open_store(url) as store:
        await add_tasks(store, a_task())
        assert await store.check() == ()


async def test_failed_migration_is_rolled_back(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_schema(postgres_server)
    steps = read_migrations(ROOM)

    async with open_store(url) as store:
        await add_tasks(store, a_task())
        before = await shape(store)
    worse = [*steps, (len(steps) + 1, NEWER), (len(steps) + 2, "CREATE TABLE @even_more (a integer); SELECT 1 / 0")]
    monkeypatch.setattr(migrate, "read_migrations", lambda _: worse)
    with pytest.raises(StoreError):
        await PostgresStore(url).open()
    monkeypatch.setattr(migrate, "read_migrations", lambda _: steps)
    async with open_store(url) as store:
        assert await shape(store) == before
        assert len((await store.tasks(TaskFilter())).items) == 1


async def test_running_node_survives_an_upgrade(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its prepared statements meet changed tables; a new node of its version is asked to upgrade."""
    url = new_schema(postgres_server)
    steps = read_migrations(ROOM)

    async def round_of(store: PostgresStore) -> None:
        await add_tasks(
            store, a_task(lane="press"), *(a_task(owner=f"owner {n % 3}", priority=n % 2) for n in range(CLAIM_SLICE))
        )
        runs = [each.run for each in await claim_all(store)]
        assert len(runs) == CLAIM_SLICE + 1
        assert await settle(store, *runs) == frozenset()
        assert (await store.renew_lease(NODE, NOON)).held
        assert await store.check() == ()
        await store.events(0)

    async with open_store(url) as old:
        await old.join(a_node())
        await round_of(old)
        monkeypatch.setattr(migrate, "read_migrations", lambda _: [*steps, (len(steps) + 1, NEWER)])
        async with open_store(url) as new:
            await round_of(old)
            await round_of(new)
        monkeypatch.setattr(migrate, "read_migrations", lambda _: steps)
        with pytest.raises(UnusableStore) as refused:
            await PostgresStore(url).open()
        assert refused.value.code == "store_newer"


async def test_store_of_an_older_version_is_upgraded(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, task = new_schema(postgres_server), a_task(labels=(("room", "a"), ("Straße", '"\\')))
    steps = read_migrations(ROOM)
    old = Record("token", "old", "ada", '"kept"', 3)

    with monkeypatch.context() as as_it_was:
        as_it_was.setattr(migrate, "read_migrations", lambda _: steps[:1])
        await only_migrated(url, monkeypatch)
    older = PostgresStore(url).address.schema
    async with open_store(new_schema(postgres_server)) as newer, open_connection(newer) as connection:
        await add_tasks(newer, task, a_task())
        for table in ("tasks", "standings", "agenda"):
            listed = f"SELECT column_name::text FROM information_schema.columns WHERE table_schema = '{older}' AND table_name = $1"  # noqa: S608
            columns = [str(name) for (name,) in await connection.fetch(listed, table)]
            await connection.execute(copy_statement(table, columns, f"{older}.", ""))
        await connection.execute(
            f"INSERT INTO {older}.tallies VALUES ('ada', 0, 'state:active', 2), ('', 0, 'state:active', 2)"  # noqa: S608
        )
        await connection.execute(f"INSERT INTO {older}.records VALUES ('token', 'old', 'ada', '\"kept\"', 3)")  # noqa: S608
    async with open_store(url) as store:
        assert (await get_facts(store, task)).task == task
        for label in task.labels:
            (found,) = (await store.tasks(TaskFilter(labels=(label,)))).items
            assert found.task == task
        assert await store.put_record(old._replace(key="new", expires=NOON), replacing=None)
        assert await store.drop_expired(NOON, 10) == 1
        assert (await store.records("token", "ada")).items == (old,)
        assert await store.check() == ()


async def test_upgrade_waits_for_a_running_upgrade(postgres_server: PostgresServer) -> None:
    """A running upgrade is taken neither for finished nor for another program's schema."""
    url = new_schema(postgres_server)

    async with open_store(new_schema(postgres_server)) as elsewhere, open_connection(elsewhere) as rival:
        store = PostgresStore(url)
        await rival.execute("BEGIN")
        await rival.execute(
            "SELECT pg_advisory_xact_lock($1, hashtext($2))", migrate._LOCK_NAMESPACE, store.address.schema
        )
        opening = asyncio.create_task(store.open())
        await wait_until(
            lambda: rival.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        )
        assert not opening.done()
        await rival.execute("ROLLBACK")
        await opening
        await store.close()


async def test_migration_may_take_longer_than_any_other_statement(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, steps = new_schema(postgres_server), read_migrations(ROOM)
    monkeypatch.setattr(connection_factory, "_COMMAND_SECONDS", 2.0)
    monkeypatch.setattr(migrate, "read_migrations", lambda _: [*steps, (len(steps) + 1, "SELECT pg_sleep(2.5)")])
    async with open_store(url) as store:
        assert await store.check() == ()


async def test_open_and_close_are_idempotent(postgres_server: PostgresServer) -> None:
    store = PostgresStore(new_schema(postgres_server))
    await store.open()
    await store.open()
    await store.write_metadata("a", "b")
    await store.close()
    await store.close()
    for call in (store.write_metadata("a", "c"), store.read_metadata("a"), store.open()):
        with pytest.raises(StoreUnavailable):
            await call
