"""Contract of the event log: numbered without gaps, in order; a reader that resumes from a number misses none."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....model.change import Change
from .....model.events.event import Event, EventKind, NumberedEvent
from .....model.task import Task
from .....ports.full_store import FullStore
from ....decisions import PlannedFailure, always, fail
from ....factories import NOON, a_task, an_event
from ..contract import Contract
from ..setup import add_tasks, settle, start_run


async def _write_events(store: FullStore, task: Task, *details: str) -> None:
    events = tuple(an_event(task, detail=detail) for detail in details)
    await store.change(task.id, None, always(Change(events=events)))


async def _read(store: FullStore, size: int, owner: str | None = None) -> list[NumberedEvent]:
    """Read from the beginning in pages, resuming from the last number."""
    found: list[NumberedEvent] = []
    while page := await store.events(found[-1].number if found else 0, size, owner):
        found.extend(page)
    return found


class EventsContract(Contract):
    async def test_a_new_store_has_no_events(self, store: FullStore) -> None:
        assert await store.events(0) == ()
        assert await store.last_event() == 0

    async def test_events_are_numbered_from_one_without_gaps(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task, a_task())
        await _write_events(store, task, "one", "two")
        await _write_events(store, task, "three")
        events = await store.events(0)
        assert [numbered.number for numbered in events] == [1, 2, 3, 4, 5]
        assert [numbered.event.detail for numbered in events[2:]] == ["one", "two", "three"]
        assert await store.last_event() == 5

    async def test_a_rolled_back_change_leaves_no_gap_in_the_numbers(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        for _ in range(3):
            try:
                await store.change(task.id, None, fail)
            except PlannedFailure:
                continue
        await _write_events(store, task, "after")
        assert [numbered.number for numbered in await store.events(0)] == [1, 2]

    async def test_events_are_counted_per_owner(self, store: FullStore) -> None:
        ada, bob = a_task(owner="ada"), a_task(owner="bob")
        await add_tasks(store, ada, bob)
        await _write_events(store, bob, "b", "b", "b")
        await _write_events(store, ada, "a", "a")
        # 1: ada, 2-5: bob, 6-7: ada
        assert await store.owner_event_counts(["ada", "bob", "eve"], 5) == {"ada": 1, "bob": 4, "eve": 0}
        assert await store.owner_event_counts(["ada"], 1_000) == {"ada": 3}
        assert await store.owner_event_counts(["ada", "bob"], 0) == {"ada": 0, "bob": 0}
        assert await store.owner_event_counts([], 5) == {}

    async def test_claims_and_settlements_write_their_events(self, store: FullStore) -> None:
        run = await start_run(store)
        await settle(store, run)
        events = [numbered.event for numbered in await store.events(0)]
        assert [event.kind for event in events] == [
            EventKind.TASK_CREATED,
            EventKind.RUN_STARTED,
            EventKind.RUN_SUCCEEDED,
        ]
        assert events[1] == Event(EventKind.RUN_STARTED, NOON, "ada", run.task_id, run.id)

    async def test_a_reader_that_resumes_misses_none(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        for number in range(25):
            await _write_events(store, task, f"event {number}")
        for size in (1, 7, 26, 100):
            assert await _read(store, size) == list(await store.events(0))

    async def test_reading_past_the_last_number_returns_nothing(self, store: FullStore) -> None:
        await add_tasks(store, a_task())
        assert await store.events(1) == ()
        assert await store.events(1_000) == ()

    async def test_an_owner_reads_only_events_of_their_own_tasks(self, store: FullStore) -> None:
        mine, theirs = a_task(owner="ada"), a_task(owner="bob")
        await add_tasks(store, mine, theirs)
        for number in range(5):
            await _write_events(store, theirs if number % 2 else mine, f"event {number}")
        read = await _read(store, 2, "ada")
        assert [numbered.event.detail for numbered in read] == [None, "event 0", "event 2", "event 4"]
        assert read == [numbered for numbered in await store.events(0) if numbered.event.owner == "ada"]

    async def test_concurrent_writers_leave_no_gap_and_a_reader_misses_none(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(8)]
        await add_tasks(store, *tasks)
        written: asyncio.Queue[None] = asyncio.Queue()
        read: list[int] = []

        async def read_on() -> None:
            page = await store.events(read[-1] if read else 0, 7)
            read.extend(numbered.number for numbered in page)

        async def read_along() -> None:
            for _ in range(80):
                await written.get()
                await read_on()

        async def write(handle: FullStore, task: Task) -> None:
            for number in range(10):
                await _write_events(handle, task, f"event {number}")
                written.put_nowait(None)

        async with self.another(store) as other:
            writers = [write(other if place % 2 else store, task) for place, task in enumerate(tasks)]
            await asyncio.gather(read_along(), *writers)
        while read[-1] < await store.last_event():
            await read_on()
        assert read == list(range(1, 89))
