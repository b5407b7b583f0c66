"""The third write of `at_most_once`: a run starts only after the store has it as running."""

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


async def add_at_most_once_task(clock: VirtualClock) -> tuple[FaultyStore, ScriptedTarget, Engine, Task]:
    store, target = FaultyStore(), ScriptedTarget()
    return (
        store,
        target,
        make_engine(store, target, clock),
        await add_task(store, NOON, clock.now(), guarantee="at_most_once"),
    )


async def test_running_state_is_written_before_the_call(clock: VirtualClock) -> None:
    store, target, engine, task = await add_at_most_once_task(clock)
    store.block("start")
    await engine.start()
    await clock.pause(2)
    assert target.invocations == []
    assert [run.state for run in await list_runs(store, task)] == [RunState.CLAIMED]
    store.unblock()
    await clock.pause(1)
    await engine.stop()
    (run,) = await list_runs(store, task)
    assert (run.state, run.started) == (RunState.SUCCEEDED, NOON + 2 * SECOND)


async def test_start_that_failed_before_the_commit_is_retried(clock: VirtualClock) -> None:
    store, target, engine, task = await add_at_most_once_task(clock)
    store.fail_before("start")
    await engine.start()
    await clock.pause(5)
    await engine.stop()
    first, second = await list_runs(store, task)
    assert (first.state, first.reason) == (RunState.LOST, Reason.RELEASED)
    assert second.state is RunState.SUCCEEDED
    assert len(target.invocations) == 1


async def test_start_with_unknown_commit_is_not_retried(clock: VirtualClock) -> None:
    store, target, engine, task = await add_at_most_once_task(clock)
    store.fail_after("start")
    await engine.start()
    await clock.pause(60)
    await engine.stop()
    assert [run.state for run in await list_runs(store, task)] == [RunState.LOST]
    assert target.invocations == []


async def test_run_cancelled_during_its_start_does_not_begin(clock: VirtualClock) -> None:
    store, target, engine, task = await add_at_most_once_task(clock)
    store.block("start")
    await engine.start()
    await clock.pause(1)
    tasks = Tasks(as_store(store), clock, on_write=lambda _due: engine.notify())
    await tasks.cancel(LOCAL, task.id)
    await clock.pause(1)
    store.unblock()
    await clock.pause(1)
    await engine.stop()
    assert target.invocations == []
    assert [run.state for run in await list_runs(store, task)] == [RunState.CANCELLED]


async def test_run_recovered_during_its_start_does_not_begin(
    clock: VirtualClock,
) -> None:
    store, target, engine, task = await add_at_most_once_task(clock)
    store.block("start")
    await engine.start()
    await clock.pause(1)
    whole = as_store(store.inner)
    (run,) = await list_runs(store, task)
    await whole.release([(run.id, run.token)], partial(release, now=clock.now()))
    store.unblock()
    await clock.pause(20)
    await engine.stop()
    lost, again = await list_runs(store, task)
    assert (lost.state, again.state) == (RunState.LOST, RunState.SUCCEEDED)
    assert [each.run.attempt for each in target.invocations] == [2]
