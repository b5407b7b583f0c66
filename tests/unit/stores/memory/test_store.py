"""Memory store: any thread may call it, and the cost of a call does not grow with the store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from threading import Barrier, Thread
from types import FrameType
from typing import Any

import pytest

from horae.errors import StoreError
from horae.model.change import Change
from horae.ports.store import Claimed
from horae.stores.memory import MemoryStore
from horae.testing.contracts.stores.setup import add_tasks, claim_all, fill_lane, settle, start_run
from horae.testing.decisions import start_everything, start_within_lanes, succeed
from horae.testing.factories import DAY, NODE, NOON, a_node, a_run, a_settlement, a_task


async def filled(waiting: int) -> MemoryStore:
    """Make a store with one due task and `count` others."""
    store = MemoryStore()
    await store.join(a_node())
    await add_tasks(store, *(a_task(priority=place % 5) for place in range(waiting)), due=NOON + DAY)
    await add_tasks(store, a_task())
    return store


def calls_made(work: Callable[[], object]) -> int:
    """Count the Python calls: a measure of cost that does not depend on the load of the machine."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def at_once(call: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that never suspends."""
    with pytest.raises(StopIteration) as answered:
        call.send(None)
    return answered.value.value


def cost_of_one_run(store: MemoryStore) -> int:
    def one_run() -> None:
        (claimed,) = at_once(store.claim_due(NOON, NODE, 10, start_everything)).runs
        at_once(store.renew_lease(NODE, NOON))
        assert not at_once(store.settle([a_settlement(claimed.run)], succeed))

    return calls_made(one_run)


async def test_claim_renew_and_settle_cost_does_not_grow_with_the_store() -> None:
    cost_of_one_run(await filled(waiting=0))  # Fills the caches of the process.
    assert cost_of_one_run(await filled(waiting=3_000)) == cost_of_one_run(await filled(waiting=3))


async def test_no_call_suspends() -> None:
    store = await filled(waiting=0)
    assert at_once(store.claim_due(NOON, NODE, 1, start_everything)).decided == 1
    assert at_once(store.check()) == ()


async def test_threads_with_their_own_loops_claim_disjoint_runs() -> None:
    store = await filled(waiting=0)
    tasks = [a_task() for _ in range(400)]
    await add_tasks(store, *tasks)
    shares: list[list[Claimed]] = []
    barrier = Barrier(4)

    def work() -> None:
        barrier.wait()
        shares.append(asyncio.run(claim_all(store, room=3)))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claimed = [each.task.id for share in shares for each in share]
    assert len(claimed) == len(set(claimed)) == 401


async def test_recovery_that_ends_no_run_is_refused() -> None:
    """Such a recovery would be repeated for ever."""

    store = MemoryStore()
    run = await start_run(store)
    with pytest.raises(StoreError):
        await store.recover(NODE, 0, lambda *_: Change(), 10)
    assert await store.run(run.id, None) == run


async def test_change_cannot_replace_the_task_id() -> None:
    store = MemoryStore()
    task = a_task()
    await add_tasks(store, task)
    with pytest.raises(StoreError):
        await store.change(task.id, None, lambda _: Change(task=a_task()))


async def test_upsert_cannot_overwrite_a_task_with_another_key() -> None:
    store = MemoryStore()
    task = a_task(key="one")
    await add_tasks(store, task)
    with pytest.raises(StoreError):
        await store.upsert("ada", "two", lambda _: Change(task=task._replace(key="two")))
    with pytest.raises(StoreError):
        await store.upsert("ada", "two", lambda _: Change())
    assert await store.find("ada", "two") is None


async def test_backup_is_refused() -> None:
    with pytest.raises(StoreError):
        await MemoryStore().backup("copy.db")


async def test_close_keeps_data_for_other_users() -> None:
    store = MemoryStore()
    run = await start_run(store)
    await store.close()
    await store.close()
    await store.open()
    assert await settle(store, run) == frozenset()


async def test_check_finds_inconsistent_data() -> None:
    store = MemoryStore()
    run = await start_run(store, a_task(lane="press"))
    data = store._data
    data.runs.lane_slots.add("press", "run_of_nobody")
    stray = a_task()
    data.runs.write("run_stray", a_run(stray, id="run_stray"))
    data.statuses.write(run.task_id, None)
    found = await store.check()
    assert [word for word in ("press", "run_stray", run.task_id) if any(word in each for each in found)] == [
        "press",
        "run_stray",
        run.task_id,
    ]


async def test_turns_of_lanes_that_nobody_needs_are_forgotten() -> None:
    store = MemoryStore()
    (first,) = await fill_lane(store, "press", a_task(), a_task())
    await settle(store, first)
    await store.trim(NOON, 10, 10)
    assert set(store._data.lane_turns.all_keys()) == {"press"}, "an entry has got the slot"
    (claimed,) = await claim_all(store, decide=start_within_lanes())
    await store.trim(NOON, 10, 10)
    assert set(store._data.lane_turns.all_keys()) == {"press"}, "a run is in it"
    await settle(store, claimed.run)
    await store.trim(NOON, 10, 10)
    assert set(store._data.lane_turns.all_keys()) == set()
