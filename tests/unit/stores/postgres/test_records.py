"""Records on PostgreSQL: all records of a change are one statement, and a change without records runs none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from horae.errors import Conflict
from horae.model.record import Record, RecordWrite
from horae.stores.postgres.connection import PostgresConnection, split_batches
from horae.testing.contracts.stores.setup import add_tasks, claim_all, settle
from horae.testing.factories import NOON, a_new_task, a_node, a_task
from tests.servers.postgres import PostgresServer
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.store_setup import new_schema, open_connection, open_store

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


def note(key: str, body: str = "{}") -> RecordWrite:
    return RecordWrite(Record("note", key, "ada", body))


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of statements that write rows."""
    names: list[str] = []
    run = PostgresConnection._run

    async def record(link: PostgresConnection, name: str, *values: Any) -> list[Any]:
        names.append(name)
        return await run(link, name, *values)

    monkeypatch.setattr(PostgresConnection, "_run", record)
    return names


async def test_change_without_records_runs_no_record_statement(
    postgres_server: PostgresServer, statements: list[str]
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task(lane="press"))
        await settle(store, *(each.run for each in await claim_all(store)))
        await store.set_lane("press", 3)
        assert "insert_tasks" in statements
        assert "write_records" not in statements


async def test_thousand_records_are_one_statement(postgres_server: PostgresServer, statements: list[str]) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.add([a_new_task(a_task())._replace(attached=(note(f"{place:04}"),)) for place in range(1_000)])
        assert statements.count("write_records") == 1
        found = (await store.records("note", limit=1_000)).items
        assert [record.key for record in found] == [f"{place:04}" for place in range(1_000)]


def test_each_batch_holds_a_record_once_and_in_order() -> None:
    first, second, third = note("a", "1"), note("a", "2"), note("a", "3")
    other, last = note("b"), note("c")
    assert split_batches([first, other, second, third, last]) == [[first, other, last], [second], [third]]
    assert split_batches([]) == []


async def test_record_renewed_concurrently_is_not_dropped(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        expired = [RecordWrite(note(key).record._replace(expires=NOON)) for key in ("kept", "gone")]
        assert await store.write_records(expired)
        async with open_connection(store) as rival:
            await rival.execute("BEGIN; UPDATE records SET expires = NULL, version = 2 WHERE key = 'kept'")
            assert await store.drop_expired(NOON, 10) == 1
            await rival.execute("COMMIT")
        assert await store.drop_expired(NOON, 10) == 0
        assert [record.key for record in (await store.records("note")).items] == ["kept"]


@pytest.mark.parametrize("replacing", [None, 1])
async def test_record_write_after_a_committed_rival_is_refused(
    postgres_server: PostgresServer, replacing: int | None
) -> None:
    """An uncommitted rival write decides only when it commits."""

    async with open_store(new_schema(postgres_server)) as store:
        theirs = (
            "INSERT INTO records VALUES ('note', 'head', 'bob', '1', 1)"
            if replacing is None
            else "UPDATE records SET version = 2 WHERE key = 'head'"
        )
        for end, late in (("ROLLBACK", False), ("COMMIT", True)):
            await store.drop_record("note", "head", 1)
            await store.drop_record("note", "head", 2)
            if replacing is not None:
                assert await store.put_record(note("head").record, replacing=None)
            async with open_connection(store) as rival, open_connection(store) as watch:
                await rival.execute(f"BEGIN; {theirs}")
                head = RecordWrite(note("head").record, replacing)
                adding = asyncio.create_task(store.add([a_new_task(a_task())._replace(attached=(head,))]))
                await wait_until(lambda: watch.fetchval(WAITING))
                await rival.execute(end)
                if late:
                    with pytest.raises(Conflict):
                        await adding
                else:
                    await adding
        assert len(await store.events(0)) == 1
