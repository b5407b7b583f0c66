"""Packed events: events of many runs share one row, and are read one by one."""

from __future__ import annotations

from typing import Final

import pytest

from horae.lifecycle.settle import settle
from horae.model.events.event import NumberedEvent
from horae.model.outcome import Succeeded
from horae.model.task import Task
from horae.ports.store import Claimed
from horae.ports.transfer import Part
from horae.stores.memory import MemoryStore
from horae.stores.postgres import PostgresStore
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.factories import DAY, NODE, NOON, a_node
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.ordinary_tasks import decide, interval_tasks, once_tasks, run_all, settlement
from tests.unit.stores.postgres.store_setup import new_schema, open_connection, open_store, open_unhurried_store

MANY: Final = 20
"""More than the fast path takes."""


def tasks_of_two_owners() -> list[Task]:
    return [*once_tasks(MANY // 2, owner="ada"), *once_tasks(MANY // 2, owner="bob")]


@pytest.mark.parametrize(
    ("tasks", "packed_rows"),
    [
        (once_tasks(MANY), 2),
        (tasks_of_two_owners(), 0),
        (interval_tasks(MANY), 2),
        ([*once_tasks(MANY // 2), *interval_tasks(MANY // 2)], 1),
    ],
)
async def test_many_runs_leave_the_same_data_as_the_memory_store(
    postgres_server: PostgresServer, tasks: list[Task], packed_rows: int
) -> None:
    async with open_unhurried_store(new_schema(postgres_server)) as store:
        memory = MemoryStore()
        facts, _, *counts = await run_all(store, tasks, failing=False)
        expected, _, *expected_counts = await run_all(memory, tasks, failing=False)
        assert (facts, counts) == (expected, expected_counts)
        assert await store.events(0) == await memory.events(0)
        assert await store.check() == ()
        async with open_connection(store) as connection:
            assert await connection.fetchval("SELECT count(*) FROM packed_events") == packed_rows


async def claim_all(store: PostgresStore) -> list[Claimed]:
    """Claim all tasks; a claim ends early on a busy machine, when its processor time is used up."""
    claimed_runs: list[Claimed] = []
    while len(claimed_runs) < MANY:
        claimed_runs += (await store.claim_due(NOON, NODE, 1_000, decide)).runs
    return claimed_runs


async def settle_many(store: PostgresStore) -> tuple[NumberedEvent, ...]:
    """Claim and settle many tasks together; return their events."""
    await store.join(a_node())
    await add_tasks(store, *once_tasks(MANY))
    claimed_runs = await claim_all(store)
    assert (
        await store.settle(
            [settlement(each, place, Succeeded(None)) for place, each in enumerate(claimed_runs)], settle
        )
        == set()
    )
    everything = await store.events(0)
    assert [each.number for each in everything] == list(range(1, 4 * MANY + 1))
    return everything


@pytest.mark.parametrize("limit", [1, 7, 64])
async def test_event_pages_may_split_a_packed_row(postgres_server: PostgresServer, limit: int) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        everything = await settle_many(store)
        owner = everything[-1].event.owner
        for queried_owner in (None, owner):
            read: list[NumberedEvent] = []
            while page := await store.events(read[-1].number if read else 0, limit, queried_owner):
                assert len(page) <= limit
                read += page
            assert tuple(read) == everything
        assert await store.events(0, owner="nobody") == ()


async def owner_counts(store: PostgresStore, everything: tuple[NumberedEvent, ...]) -> list[int]:
    """Return the owner's event count before the first remaining event and up to each."""
    owner, remaining = everything[0].event.owner, await store.events(0)
    positions = [remaining[0].number - 1 if remaining else everything[-1].number, *(each.number for each in remaining)]
    return [(await store.owner_event_counts([owner], each))[owner] for each in positions]


async def test_trim_removes_events_of_a_packed_row_one_by_one(postgres_server: PostgresServer) -> None:
    """Also within the events of one run."""

    async with open_store(new_schema(postgres_server)) as store:
        everything, after, gone = await settle_many(store), None, 0
        for _ in range(20 * MANY):
            trimmed = await store.trim(NOON + DAY, 100, 3, after)
            after, gone = trimmed.after, gone + trimmed.events
            assert await store.events(0) == everything[gone:]
            assert await owner_counts(store, everything) == list(range(gone, len(everything) + 1))
            assert (await store.count_parts())[Part.EVENTS] == len(everything) - gone
            if not trimmed.more:
                break
        assert gone == len(everything)
        async with open_connection(store) as connection:
            assert await connection.fetchval("SELECT count(*) FROM packed_events") == 0


async def test_trim_keeps_newer_events_of_a_packed_row(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        everything = await settle_many(store)
        middle = everything[-MANY].event.at
        remaining = tuple(each for each in everything if each.event.at >= middle)
        assert 0 < len(remaining) < 2 * MANY
        for _ in range(MANY):
            await store.trim(middle, 100, 1_000)
        assert await store.events(0) == remaining
        assert (await store.count_parts())[Part.EVENTS] == len(remaining)


async def test_concurrent_change_makes_settle_use_the_general_path(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(MANY))
        claimed_runs = await claim_all(store)
        async with open_connection(store) as rival:
            await rival.execute("BEGIN")
            await rival.execute(
                "UPDATE task_state SET version = version + 1 WHERE task = (SELECT max(task) FROM task_state)"
            )
            await rival.execute("COMMIT")
        reports = [settlement(each, place, Succeeded(None)) for place, each in enumerate(claimed_runs)]
        assert await store.settle(reports, settle) == frozenset()
        assert await store.settle(reports, settle) == {each.run.id for each in claimed_runs}
        assert [each.number for each in await store.events(0)] == list(range(1, 4 * MANY + 1))
        assert await store.check() == ()
