"""Wall clock set back: interval tasks go on, and the step is reported."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from horae.ports.node_records import load_clock_steps
from horae.schedule import Cron, Every
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    FaultyStore,
    ScriptedTarget,
    add_task,
    as_store,
    list_runs,
    make_engine,
    wait_until,
)

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
EVERY = Every(interval=10 * SECOND)


async def interval_tasks_go_on(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    grid = await add_task(store, EVERY, NOON)
    after_end = await add_task(store, Every(interval=10 * SECOND, since="end"), NOON)
    cron = await add_task(store, Cron(expression="* * * * *", zone="UTC"), NOON)
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(65)
    before = {task.id: len(await list_runs(store, task)) for task in (grid, after_end, cron)}
    assert before == {grid.id: 6, after_end.id: 6, cron.id: 1}
    clock.step(-HOUR)
    await clock.pause(65)
    assert len(await list_runs(store, grid)) - before[grid.id] >= 6
    assert len(await list_runs(store, after_end)) - before[after_end.id] >= 5
    assert len(await list_runs(store, cron)) == 1
    planned = [run.planned for run in await list_runs(store, grid)]
    assert len(set(planned)) == len(planned)
    assert all(run.started is not None and run.started >= run.due for run in await list_runs(store))
    (step,) = await load_clock_steps(as_store(store), clock.now())
    assert abs(step.by - HOUR) < SECOND
    await engine.stop()


async def test_interval_tasks_go_on_after_the_clock_was_set_back(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        await interval_tasks_go_on(clock)
    assert caplog.text.count("the wall clock was set back by 3600.") == 1


async def step_while_nothing_ran(clock: VirtualClock) -> None:
    store = FaultyStore()
    task = await add_task(store, EVERY, NOON)
    first = make_engine(store, ScriptedTarget(), clock)
    await first.start()
    await clock.pause(35)
    await first.stop()
    clock.step(-HOUR)
    target = ScriptedTarget()
    second = make_engine(store, target, clock)
    store.fail_before("last_event", times=2)
    await second.start()
    await wait_until(clock, lambda: len(target.invocations) >= 3, within=60)
    await second.stop()
    assert len(await list_runs(store, task)) >= 6


async def test_step_while_no_node_ran_is_seen_at_the_start(clock: VirtualClock) -> None:
    await step_while_nothing_ran(clock)


async def no_step(clock: VirtualClock) -> None:
    store = MemoryStore()
    await add_task(store, EVERY, NOON)
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(120)
    await engine.stop()
    assert await load_clock_steps(as_store(store), clock.now()) == ()


async def test_steady_clock_is_not_reported(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        await no_step(clock)
    assert "set back" not in caplog.text
