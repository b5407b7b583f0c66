"""`task.wait()`: returns the occurrence that ends next, or the last one when nothing is left to run."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from horae import Conflict, Fail, Horae, NotFound
from horae.app.wait import RunWaiters
from horae.model.run import RunState
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app
from tests.unit.engine.engine_setup import FaultyStore, as_store


async def test_wait_for_a_one_time_task_before_and_after_its_end(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def once() -> int:
        return 7

    async with app:
        handle = await app.schedule(once, "in 20m")
        first = await handle.wait()
        assert (first.state, first.result, first.planned) == (RunState.SUCCEEDED, 7, NOON + 20 * MINUTE)
        assert await handle.wait() == first
        assert await handle.wait(timeout=0) == first


async def test_wait_for_a_recurring_task_returns_one_occurrence_after_the_other(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def again() -> None: ...

    async with app:
        handle = await app.schedule(again, "every 1h")
        planned = [(await handle.wait()).planned for _ in range(3)]
        assert planned == [NOON + n * HOUR for n in (1, 2, 3)]
        await clock.pause(3_601)
        assert (await handle.wait()).planned == NOON + 5 * HOUR


async def test_wait_returns_the_active_occurrence(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def slow() -> None:
        await clock.pause(120)

    async with app:
        handle = await app.schedule(slow, "every 1h")
        await clock.pause(3_600 + 60)
        run = await handle.wait()
        assert (run.planned, run.ended) == (NOON + HOUR, NOON + HOUR + 2 * MINUTE)


async def test_wait_continues_through_retries(clock: VirtualClock) -> None:
    app = an_app(clock)
    tries = 0

    @app.task
    async def shaky() -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ConnectionError
        return tries

    async with app:
        run = await (await app.schedule(shaky, "now")).wait()
        assert (run.state, run.attempt, run.result) == (RunState.SUCCEEDED, 3, 3)


async def test_wait_returns_a_failed_run(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def broken() -> None:
        raise Fail("no paper")

    async with app:
        handle = await app.schedule(broken, "now")
        run = await handle.wait()
        assert run.state is RunState.FAILED
        assert "no paper" in (run.error or "")
        assert await handle.wait() == run


async def test_wait_returns_a_cancelled_run(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def slow() -> None:
        await clock.pause(1_000)

    async with app:
        handle = await app.schedule(slow, "now")
        waiting = asyncio.ensure_future(handle.wait())
        await clock.pause(10)
        await handle.cancel()
        assert (await waiting).state is RunState.CANCELLED
        assert clock.now() < NOON + 11 * SECOND


async def test_wait_is_refused_for_a_task_cancelled_before_it_ran(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def never() -> None: ...

    async with app:
        handle = await app.schedule(never, "in 1h")
        waiting = asyncio.ensure_future(handle.wait())
        await clock.pause(10)
        await handle.cancel()
        with pytest.raises(Conflict) as refusal:
            await waiting
        assert refusal.value.code == "task_over"
        with pytest.raises(Conflict):
            await handle.wait()


async def test_wait_ends_when_the_task_is_deleted(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def never() -> None: ...

    async with app:
        handle = await app.schedule(never, "in 1h")
        waiting = asyncio.ensure_future(handle.wait())
        await clock.pause(10)
        await app.service.tasks.delete(app.who, handle.id)
        with pytest.raises(NotFound):
            await waiting


@pytest.mark.parametrize("seconds", ["2s", 2, 2.0, timedelta(seconds=2)])
async def test_timeout_ends_the_wait_and_not_the_run(clock: VirtualClock, seconds: Any) -> None:
    app = an_app(clock)

    @app.task
    async def slow() -> str:
        await clock.pause(10)
        return "done"

    async with app:
        handle = await app.schedule(slow, "now")
        with pytest.raises(TimeoutError):
            await handle.wait(timeout=seconds)
        assert clock.now() == NOON + 2 * SECOND
        assert (await handle.wait()).result == "done"
        assert app._waiters._wakeups == {}


async def test_wait_sees_runs_of_another_process(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def elsewhere() -> None: ...

    async with app:
        idle = Horae("memory://", engine=False, clock=clock, zone="UTC")
        idle._store = app.store
        handle = await app.schedule(elsewhere, "in 1h")
        run = await idle.wait_for(handle.id)
        assert run.state is RunState.SUCCEEDED
        assert clock.now() - NOON - HOUR <= 2 * SECOND


async def test_wait_ends_when_the_app_is_closed(clock: VirtualClock) -> None:
    app = an_app(clock)
    app.task(name="later")(lambda: None)
    async with app:
        handle = await app.schedule("later", "in 1h")
        waiting = asyncio.ensure_future(handle.wait())
        await clock.pause(10)
    with pytest.raises(Conflict) as refusal:
        await waiting
    assert refusal.value.code == "not_open"


async def test_occurrence_that_ends_during_the_first_read_is_not_missed(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def quick() -> None: ...

    async with app:
        handle = await app.schedule(quick, "every 1h")
        await clock.pause(3_590)
        store = FaultyStore(app.store)
        store.block("facts")
        waiting = asyncio.ensure_future(RunWaiters().wait_for_end(lambda: as_store(store), handle.id, None))
        await clock.pause(20)
        store.unblock()
        assert (await waiting).planned == NOON + HOUR


async def test_waiters_of_other_tasks_do_not_read_the_store(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    app.task(name="quick")(lambda: None)
    async with app:
        handles = await app.schedule_many([("quick", NOON + HOUR, None)] * 20)
        store, waiting = FaultyStore(app.store), RunWaiters()
        waiters = [
            asyncio.ensure_future(waiting.wait_for_end(lambda: as_store(store), each.id, None)) for each in handles
        ]
        await clock.pause(0.01)
        assert store.count("facts") == 20
        waiting.notify_ended({handles[3].id, "tsk_absent"})
        await clock.pause(0.01)
        assert store.arguments("facts")[20:] == [(handles[3].id, None)]
        waiting.notify_all()
        await clock.pause(0.01)
        assert store.count("facts") == 41
        for waiter in waiters:
            waiter.cancel()
        await asyncio.wait(waiters)
        assert waiting._wakeups == {}
