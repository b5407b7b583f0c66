"""What many runs have in common is told in one row, and read as if each had told it."""

from __future__ import annotations

from typing import Final

import pytest

from horae.lifecycle.settle import settle
from horae.model.events.event import NumberedEvent
from horae.model.outcome import Succeeded
from horae.model.task import Task
from horae.ports.transfer import Part
from horae.stores.memory import MemoryStore
from horae.stores.postgres import PostgresStore
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.factories import DAY, NODE, NOON, a_node
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.opening import connected, new_schema, opened
from tests.unit.stores.postgres.test_at_once import decide, ending, lived, lone, repeated

MANY: Final = 20
"""More than go the short way."""


def of_two_owners() -> list[Task]:
    return [*lone(MANY // 2, owner="ada"), *lone(MANY // 2, owner="bob")]


@pytest.mark.parametrize(
    ("tasks", "bundles"),
    [(lone(MANY), 2), (of_two_owners(), 0), (repeated(MANY), 1), ([*lone(MANY // 2), *repeated(MANY // 2)], 0)],
)
async def test_many_leave_behind_what_memory_does(
    postgres_server: PostgresServer, tasks: list[Task], bundles: int
) -> None:
    async with opened(new_schema(postgres_server)) as store:
        memory = MemoryStore()
        facts, _, *counts = await lived(store, tasks, failing=False)
        remembered, _, *remembered_counts = await lived(memory, tasks, failing=False)
        assert (facts, counts) == (remembered, remembered_counts)
        assert await store.events(0) == await memory.events(0)
        assert await store.check() == ()
        async with connected(store) as connection:
            assert await connection.fetchval("SELECT count(*) FROM packed_events") == bundles


async def told(store: PostgresStore) -> tuple[NumberedEvent, ...]:
    """Of many that began together and ended together."""
    await store.join(a_node())
    await add_tasks(store, *lone(MANY))
    begun = (await store.claim_due(NOON, NODE, 1_000, decide)).runs
    assert (
        await store.settle([ending(each, place, Succeeded(None)) for place, each in enumerate(begun)], settle) == set()
    )
    everything = await store.events(0)
    assert [each.number for each in everything] == list(range(1, 4 * MANY + 1))
    return everything


@pytest.mark.parametrize("limit", [1, 7, 64])
async def test_pages_may_begin_and_end_within_one(postgres_server: PostgresServer, limit: int) -> None:
    async with opened(new_schema(postgres_server)) as store:
        everything = await told(store)
        owner = everything[-1].event.owner
        for asked in (None, owner):
            read: list[NumberedEvent] = []
            while page := await store.events(read[-1].number if read else 0, limit, asked):
                assert len(page) <= limit
                read += page
            assert tuple(read) == everything
        assert await store.events(0, owner="nobody") == ()


async def owner_counts(store: PostgresStore, everything: tuple[NumberedEvent, ...]) -> list[int]:
    """How many events the one owner has, before the first kept event and up to each."""
    owner, kept = everything[0].event.owner, await store.events(0)
    positions = [kept[0].number - 1 if kept else everything[-1].number, *(each.number for each in kept)]
    return [(await store.owner_event_counts([owner], each))[owner] for each in positions]


async def test_what_is_old_goes_one_by_one(postgres_server: PostgresServer) -> None:
    """Also between what was told of one run and the next."""

    async with opened(new_schema(postgres_server)) as store:
        everything, after, gone = await told(store), None, 0
        for _ in range(20 * MANY):
            trimmed = await store.trim(NOON + DAY, 100, 3, after)
            after, gone = trimmed.after, gone + trimmed.events
            assert await store.events(0) == everything[gone:]
            assert await owner_counts(store, everything) == list(range(gone, len(everything) + 1))
            assert (await store.count_parts())[Part.EVENTS] == len(everything) - gone
            if not trimmed.more:
                break
        assert gone == len(everything)
        async with connected(store) as connection:
            assert await connection.fetchval("SELECT count(*) FROM packed_events") == 0


async def test_part_of_one_may_be_too_young_to_go(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        everything = await told(store)
        middle = everything[-MANY].event.at
        kept = tuple(each for each in everything if each.event.at >= middle)
        assert 0 < len(kept) < 2 * MANY
        for _ in range(MANY):
            await store.trim(middle, 100, 1_000)
        assert await store.events(0) == kept
        assert (await store.count_parts())[Part.EVENTS] == len(kept)


async def test_what_somebody_changed_meanwhile_is_settled_the_long_way(postgres_server: PostgresServer) -> None:
    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *lone(MANY))
        begun = (await store.claim_due(NOON, NODE, 1_000, decide)).runs
        async with connected(store) as rival:
            await rival.execute("BEGIN")
            await rival.execute(
                "UPDATE task_state SET version = version + 1 WHERE task = (SELECT max(task) FROM task_state)"
            )
            await rival.execute("COMMIT")
        reports = [ending(each, place, Succeeded(None)) for place, each in enumerate(begun)]
        assert await store.settle(reports, settle) == frozenset()
        assert await store.settle(reports, settle) == {each.run.id for each in begun}
        assert [each.number for each in await store.events(0)] == list(range(1, 4 * MANY + 1))
        assert await store.check() == ()
