"""pg_dump restored into another server: event numbers and tokens continue, and readers miss nothing."""

from __future__ import annotations

import subprocess

from horae.model.events.event import NumberedEvent
from horae.ports.store import TaskFilter
from horae.stores.postgres import PostgresStore
from horae.testing.contracts.stores.setup import add_tasks, claim_all, get_run, settle
from horae.testing.factories import NODE, NOON, a_node, a_task
from tests.servers.postgres import PostgresServer
from tests.servers.programs import program
from tests.unit.stores.postgres.store_setup import TIMEOUT_SECONDS, new_schema, open_connection, open_store


def moved(source: str, schema: str, target: str) -> None:
    dump, load = (program(name, package="postgresql-client") for name in ("pg_dump", "psql"))
    made = subprocess.run([dump, "-n", schema, source], capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
    subprocess.run(
        [load, "-Xq", "-v", "ON_ERROR_STOP=1", target], input=made.stdout, timeout=TIMEOUT_SECONDS, check=True
    )


async def burn_numbers(store: PostgresStore, count: int) -> None:
    """Advance the transaction counter of the server."""
    async with open_connection(store) as connection:
        for _ in range(count):
            await connection.execute("SELECT pg_current_xact_id()")


async def everything_after(store: PostgresStore, number: int) -> list[NumberedEvent]:
    found: list[NumberedEvent] = []
    while page := await store.events(found[-1].number if found else number, limit=3):
        found.extend(page)
    return found


async def test_restored_dump_continues_events_and_tokens(postgres_server: PostgresServer) -> None:
    url = new_schema(postgres_server)
    schema = url.rpartition("schema=")[2]

    with PostgresServer() as target:
        async with open_store(url) as old:
            await burn_numbers(old, 500)
            await old.join(a_node())
            await add_tasks(old, *(a_task() for _ in range(5)))
            before = [each.run for each in await claim_all(old)]
            seen = await everything_after(old, 0)
            # These events are not numbered yet, because no reader has read them.
            await settle(old, *before[:2])
            await add_tasks(old, a_task())
            moved(postgres_server.url, schema, target.url)
            wanted = await everything_after(old, 0)
        async with open_store(f"{target.url}?schema={schema}") as new:
            unread = await everything_after(new, seen[-1].number)
            assert [*seen, *unread] == wanted
            await add_tasks(new, *(a_task() for _ in range(3)))
            assert await settle(new, *before[2:]) == frozenset()
            after = [each.run for each in await claim_all(new)]
            assert len(after) == 4
            assert min(each.token for each in after) > max(each.token for each in before)
            fresh = await everything_after(new, wanted[-1].number)
            assert [each.number for each in fresh] == list(
                range(wanted[-1].number + 1, wanted[-1].number + 1 + len(fresh))
            )
            assert len(fresh) == 3 + 3 + 4
            assert await everything_after(new, 0) == [*wanted, *fresh]
            assert (await get_run(new, before[4])).ended is not None
            assert len((await new.tasks(TaskFilter())).items) == 9
            assert (await new.renew_lease(NODE, NOON)).held
            assert await new.check() == ()
            assert await shift(new) > 0
        # After reopening, nothing has changed.
        async with open_store(f"{target.url}?schema={schema}") as again:
            assert await everything_after(again, 0) == [*wanted, *fresh]


async def shift(store: PostgresStore) -> int:
    async with open_connection(store) as connection:
        found: int = await connection.fetchval("SELECT shift FROM numbering")
    return found
