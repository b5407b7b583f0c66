"""Event numbers per owner: they order an owner's events, resume a reader, and reveal nothing about other owners."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from horae.model.change import Change
from horae.model.task import Task
from horae.service.events.owner_sequence import Gap, OwnerEvents, OwnerSequence
from horae.stores.memory import MemoryStore
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.decisions import always
from horae.testing.factories import DAY, NOON, a_task, an_event
from tests.api.api_server import Api

from .event_server import add_task, read_stream, record_event, serve_api


async def fill_log(store: MemoryStore, rounds: int = 4) -> tuple[Task, Task]:
    """Record one event of ada for every three of bob."""
    ada, bob = a_task(owner="ada"), a_task(owner="bob")
    await add_tasks(store, ada, bob)
    for number in range(rounds):
        for task in (bob, ada, bob, bob):
            event = an_event(task, at=NOON + number * DAY, detail=str(number))
            await store.change(task.id, None, always(Change(events=(event,))))
    return ada, bob


async def scenario_pages_of_an_owner_are_numbered_without_gaps() -> None:
    store = MemoryStore()
    await fill_log(store)
    log = OwnerEvents(store)
    for limit in (1, 2, 100):
        read = [await log.after("ada", 0, limit)]
        while page := await log.after("ada", read[-1][-1].cursor, limit):
            read.append(page)
        found = [each for page in read for each in page]
        assert [each.cursor for each in found] == [each.sequence for each in found] == [1, 2, 3, 4, 5]
        assert {each.event.owner for each in found} == {"ada"}
    assert await log.last("ada") == 5
    assert await log.last("bob") == 13
    assert await log.last(None) == 18


async def scenario_an_admin_resumes_by_position_and_reads_owner_numbers() -> None:
    store = MemoryStore()
    await fill_log(store)
    log = OwnerEvents(store)
    found = [*await log.after(None, 0, 7), *await log.after(None, 7, 100)]
    assert [each.cursor for each in found] == list(range(1, 19))
    for owner, count in (("ada", 5), ("bob", 13)):
        assert [each.sequence for each in found if each.event.owner == owner] == list(range(1, count + 1))


async def scenario_numbers_stay_after_retention() -> None:
    store = MemoryStore()
    await fill_log(store)
    log, fresh = OwnerEvents(store), OwnerEvents(store)
    before = await log.after("ada", 0, 100)
    assert await log.last("ada") == 5
    while (await store.trim(NOON + 2 * DAY, 100, 1_000)).events:
        pass
    remaining = await fresh.after("ada", 0, 100)
    assert remaining == before[-len(remaining) :]
    assert 0 < len(remaining) < len(before)
    removed = remaining[0].cursor - 1
    for each in (log, fresh):
        assert await each.last("ada") == 5
        assert await each.gap("ada", 1) == Gap(1, removed)
        assert await each.gap("ada", removed) is None
        assert await each.gap("ada", 99) == Gap(99, 5)
        assert await each.after("ada", removed + 1, 100) == remaining[1:]


async def scenario_only_owners_of_requested_events_are_counted() -> None:
    store = MemoryStore()
    await fill_log(store)
    events = await store.events(0)
    sequence = OwnerSequence(store)
    first = await sequence.number(events[:9], 0, lambda event: event.owner == "ada")
    second = await sequence.number(events[9:], events[8].number, lambda event: event.owner == "ada")
    assert [each.sequence for each in (*first, *second)] == [1, 2, 3, 4, 5]
    # A page that does not continue the last one is counted from the start.
    (again,) = await sequence.number(events[2:4], events[1].number, lambda event: event.owner == "ada")
    assert again.sequence == 2


async def scenario_stream_ids_and_bodies_reveal_nothing_of_other_owners() -> None:
    async with serve_api() as api, read_stream(api) as ada, read_stream(api, who="admin") as admin:
        await add_task(api.service.store, "bob")
        for _ in range(9):
            await add_task(api.service.store, "bob")
        hers = await add_task(api.service.store, "ada")
        frame = await ada.frame()
        assert frame is not None
        assert (frame.id, frame.data["id"], frame.data["data"]["number"]) == ("1", "evt_1", 1)
        assert "position" not in frame.data
        frames = [await admin.frame() for _ in range(11)]
        last = frames[-1]
        assert last is not None
        assert (last.id, last.data["position"], last.data["data"]["number"]) == ("11", 11, 1)
        await _check_resume(api, hers)


async def _check_resume(api: Api, hers: Task) -> None:
    await record_event(api.service.store, hers, detail="second")
    async with read_stream(api, "?after=1") as again:
        assert await again.read_details(1) == ["second"]
    page = (await api.get("/v1/events?after=1")).json
    assert [item["data"]["number"] for item in page["items"]] == [2]
    assert (page["next"], page["last"]) == (2, 2)
    everything = (await api.get("/v1/events?after=10", who="admin")).json
    assert [item["position"] for item in everything["items"]] == [11, 12]


@pytest.mark.parametrize(
    "scenario",
    [
        scenario_pages_of_an_owner_are_numbered_without_gaps,
        scenario_an_admin_resumes_by_position_and_reads_owner_numbers,
        scenario_numbers_stay_after_retention,
        scenario_only_owners_of_requested_events_are_counted,
        scenario_stream_ids_and_bodies_reveal_nothing_of_other_owners,
    ],
)
async def test_owner_sequence(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await scenario()
