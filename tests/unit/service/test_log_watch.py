"""Watch of run logs: one poll for all followers, at most five announcements per second, and waits for the next line."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from horae.model.run import Run, RunState
from horae.ports.journal import Line
from horae.service.runs.log_watch import POLL_SECONDS, LogState, LogWatch
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, a_new_task, a_run, a_task, an_ended_run
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, as_store
from tests.unit.service.service_harness import ADA, open_harness

LATER = NOON + timedelta(minutes=1)


async def make_run(store: FaultyStore, *, ended: bool = False) -> Run:
    task = a_task()
    run = an_ended_run(task) if ended else a_run(task)
    await as_store(store).add([a_new_task(task, runs=[run])])
    return run


async def write(store: FaultyStore, run: Run, number: int = 1) -> None:
    await as_store(store).write_lines([Line(run.id, NOON, "info", "text")] * number)


async def test_followers_get_the_present_state_and_each_change(clock: VirtualClock) -> None:
    store = FaultyStore(MemoryStore())
    run, watch = await make_run(store), LogWatch(as_store(store), clock)
    await write(store, run, 3)
    first: list[LogState] = []
    second: list[LogState] = []
    with watch.follow(run.id, first.append):
        await clock.pause(POLL_SECONDS)
        with watch.follow(run.id, second.append):
            assert first == second == [LogState(3, live=True)], "a second follower need not wait for the next poll"
            await write(store, run)
            await clock.pause(2 * POLL_SECONDS)
        await write(store, run)
        await clock.pause(2 * POLL_SECONDS)
    assert second == [LogState(3, live=True), LogState(4, live=True)]
    assert first == [*second, LogState(5, live=True)]
    reads = store.count("last_line")
    await clock.pause(10)
    assert store.count("last_line") == reads, "nothing is read without followers"


async def test_a_flood_of_lines_is_announced_at_most_five_times_per_second(clock: VirtualClock) -> None:
    store = FaultyStore(MemoryStore())
    run, watch = await make_run(store), LogWatch(as_store(store), clock)
    states: list[LogState] = []
    with watch.follow(run.id, states.append):
        for _ in range(100):
            await write(store, run, 10)
            await clock.pause(0.01)
        await clock.pause(2 * POLL_SECONDS)
    assert states[-1].last == 1_000
    assert len(states) <= 8


async def test_wait_ends_with_a_line_with_the_end_of_the_run_and_with_its_time(clock: VirtualClock) -> None:
    store = FaultyStore(MemoryStore())
    run, over = await make_run(store), await make_run(store, ended=True)
    watch = LogWatch(as_store(store), clock)
    waiting = asyncio.ensure_future(watch.wait(run.id, 0, 20))
    await clock.pause(1)
    assert not waiting.done()
    await write(store, run)
    await clock.pause(2 * POLL_SECONDS)
    assert waiting.done()
    begun = clock.steady()
    await watch.wait(over.id, 0, 20)
    assert clock.steady() - begun < 1
    await watch.wait(run.id, 1, 3)
    assert 3 <= clock.steady() - begun < 5


async def test_end_of_the_process_ends_all_waits(clock: VirtualClock) -> None:
    store = FaultyStore(MemoryStore())
    run, watch = await make_run(store), LogWatch(as_store(store), clock)
    waiting = asyncio.ensure_future(watch.wait(run.id, 0, 20))
    await clock.pause(0)
    watch.end_waits()
    await clock.pause(0)
    assert waiting.done()


async def test_watch_goes_on_after_a_store_error(clock: VirtualClock) -> None:
    store = FaultyStore(MemoryStore())
    run, watch = await make_run(store), LogWatch(as_store(store), clock)
    store.fail_before("last_line", times=2)
    states: list[LogState] = []
    with watch.follow(run.id, states.append):
        await clock.pause(10)
    assert states == [LogState(0, live=True)]


async def test_reader_waits_for_the_next_line_of_a_live_run() -> None:
    async with open_harness() as harness:
        task = a_task(owner=ADA.owner)
        run, over = a_run(task, planned=LATER), an_ended_run(task)
        await harness.store.add([a_new_task(task, runs=[run, over])])
        assert over.state is RunState.SUCCEEDED
        assert await harness.runs.lines(ADA, over.id, wait=20) == ()
        reading = asyncio.ensure_future(harness.runs.lines(ADA, run.id, wait=20))
        await harness.clock.pause(1)
        await harness.store.write_lines([Line(run.id, NOON, "info", "at last")])
        await harness.clock.pause(2 * POLL_SECONDS)
        assert [each.line.text for each in await reading] == ["at last"]
        assert len(await harness.runs.lines(ADA, run.id, wait=20)) == 1, "a line that is there is not waited for"
