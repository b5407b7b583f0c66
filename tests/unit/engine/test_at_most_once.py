"""The third write of `at_most_once`: only what the store has as running may run."""

from __future__ import annotations

from functools import partial

from horae.engine.engine import Engine
from horae.lifecycle.recover import release
from horae.model.accounts.principal import LOCAL
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import Task
from horae.service.tasks.tasks import Tasks
from horae.testing.factories import NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, ScriptedTarget, add_task, as_store, list_runs, make_engine


async def a_careful_one(clock: VirtualClock) -> tuple[FaultyStore, ScriptedTarget, Engine, Task]:
    store, target = FaultyStore(), ScriptedTarget()
    return (
        store,
        target,
        make_engine(store, target, clock),
        await add_task(store, NOON, clock.now(), guarantee="at_most_once"),
    )


async def test_what_must_have_started_is_written_down_first(clock: VirtualClock) -> None:
    store, target, engine, task = await a_careful_one(clock)
    store.shut("start")
    await engine.start()
    await clock.pause(2)
    assert target.invocations == []
    assert [run.state for run in await list_runs(store, task)] == [RunState.CLAIMED]
    store.open_again()
    await clock.pause(1)
    await engine.stop()
    (run,) = await list_runs(store, task)
    assert (run.state, run.started) == (RunState.SUCCEEDED, NOON + 2 * SECOND)


async def test_a_start_that_failed_before_it_was_written_is_tried_again(clock: VirtualClock) -> None:
    store, target, engine, task = await a_careful_one(clock)
    store.fail_before("start")
    await engine.start()
    await clock.pause(5)
    await engine.stop()
    first, second = await list_runs(store, task)
    assert (first.state, first.reason) == (RunState.LOST, Reason.RELEASED)
    assert second.state is RunState.SUCCEEDED
    assert len(target.invocations) == 1


async def test_a_start_that_may_have_been_written_is_not_tried_again(clock: VirtualClock) -> None:
    store, target, engine, task = await a_careful_one(clock)
    store.fail_after("start")
    await engine.start()
    await clock.pause(60)
    await engine.stop()
    assert [run.state for run in await list_runs(store, task)] == [RunState.LOST]
    assert target.invocations == []


async def test_a_run_that_is_cancelled_while_it_is_being_started_does_not_begin(clock: VirtualClock) -> None:
    store, target, engine, task = await a_careful_one(clock)
    store.shut("start")
    await engine.start()
    await clock.pause(1)
    tasks = Tasks(as_store(store), clock, on_write=lambda _due: engine.notify())
    await tasks.cancel(LOCAL, task.id)
    await clock.pause(1)
    store.open_again()
    await clock.pause(1)
    await engine.stop()
    assert target.invocations == []
    assert [run.state for run in await list_runs(store, task)] == [RunState.CANCELLED]


async def test_a_run_that_somebody_else_took_over_while_it_was_being_started_does_not_begin(
    clock: VirtualClock,
) -> None:
    store, target, engine, task = await a_careful_one(clock)
    store.shut("start")
    await engine.start()
    await clock.pause(1)
    whole = as_store(store.inner)
    (run,) = await list_runs(store, task)
    await whole.release([(run.id, run.token)], partial(release, now=clock.now()))
    store.open_again()
    await clock.pause(20)
    await engine.stop()
    lost, again = await list_runs(store, task)
    assert (lost.state, again.state) == (RunState.LOST, RunState.SUCCEEDED)
    assert [each.run.attempt for each in target.invocations] == [2]
