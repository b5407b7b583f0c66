"""Start and stop of an engine: grace period, release of the rest, errors of its loops."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from horae.engine.engine import CLEANUP_SECONDS, Engine
from horae.errors import StoreError
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.target import Invocation
from horae.schedule import Every
from horae.stores.memory import MemoryStore
from horae.testing.factories import HOUR, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    FaultyStore,
    ScriptedTarget,
    SlowStore,
    add_task,
    endless,
    list_nodes,
    list_runs,
    make_engine,
    sleep_for,
    wait_until,
)


async def test_start_and_stop_are_idempotent(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.stop()
    await asyncio.gather(engine.start(), engine.start())
    await engine.start()
    assert len(await list_nodes(store)) == 1
    await add_task(store, NOON, clock.now())
    engine.notify()
    await clock.pause(1)
    await asyncio.gather(engine.stop(), engine.stop())
    await engine.stop()
    assert len(target.invocations) == 1
    assert await list_nodes(store) == []


async def test_a_stopped_engine_can_start_again(clock: VirtualClock) -> None:
    store, asked = MemoryStore(), list[bool]()

    async def act(invocation: Invocation) -> Outcome:
        asked.append(invocation.yield_requested)
        invocation.log("hello")
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, Every(interval=HOUR), clock.now())
    await clock.pause(1)
    for _ in range(3):
        await engine.start()
        await clock.pause(HOUR.total_seconds())
        await engine.stop()
    assert asked == [False, False, False]
    runs = await list_runs(store, task)
    assert [run.state for run in runs] == [RunState.SUCCEEDED] * 3
    assert [len(await store.lines(run.id)) for run in runs] == [1, 1, 1]


async def test_live_runs_may_end_within_the_grace_period(clock: VirtualClock) -> None:
    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(sleep_for(clock, 8)), clock, grace=10 * SECOND)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    assert clock.steady() < 8.5
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    assert await list_nodes(store) == []


async def test_runs_are_released_after_the_grace_period_and_run_elsewhere(clock: VirtualClock) -> None:
    store = MemoryStore()
    first = make_engine(store, ScriptedTarget(endless), clock, grace=5 * SECOND)
    target = ScriptedTarget()
    second = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    await first.start()
    await clock.pause(1)
    await second.start()
    await clock.pause(0.5)
    stopping = clock.now()
    await first.stop()
    assert clock.now() - stopping == timedelta(seconds=5)
    second.notify()
    await clock.pause(0.1)
    await second.stop()
    lost, again = await list_runs(store, task)
    assert (lost.state, lost.reason, lost.deaths) == (RunState.LOST, Reason.RELEASED, 0)
    assert (again.state, again.attempt, again.tries) == (RunState.SUCCEEDED, 2, 1)
    assert len(target.invocations) == 1


async def test_run_is_released_only_after_its_cleanup(clock: VirtualClock) -> None:
    store, cleaned_at = FaultyStore(), list[float]()

    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        finally:
            await clock.pause(2)
            cleaned_at.append(clock.steady())
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock, grace=timedelta(0))
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    assert cleaned_at == [3.0]
    (run,) = await list_runs(store, task)
    assert (run.state, run.ended) == (RunState.LOST, NOON + 3 * SECOND)


async def test_run_that_ignores_cancellation_does_not_block_the_stop(clock: VirtualClock) -> None:
    store, over = MemoryStore(), asyncio.Event()

    async def act(_: Invocation) -> Outcome:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock, grace=5 * SECOND)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    before = clock.steady()
    await engine.stop()
    assert clock.steady() - before == 5 + CLEANUP_SECONDS
    assert [run.reason for run in await list_runs(store, task)] == [Reason.RELEASED]
    assert await list_nodes(store) == []
    over.set()


async def test_claimed_run_that_did_not_start_is_released(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock, grace=timedelta(0))
    task = await add_task(store, NOON + SECOND, clock.now())
    careful = await add_task(store, NOON + SECOND, clock.now(), guarantee="at_most_once")
    await engine.start()
    await clock.pause(0.5)
    store.block("claim_due")
    await clock.pause(2)
    stop = asyncio.ensure_future(engine.stop())
    await clock.pause(0.1)
    store.unblock()
    await stop
    assert target.invocations == []
    for each in (task, careful):
        assert [(run.state, run.reason) for run in await list_runs(store, each)] == [(RunState.LOST, Reason.RELEASED)]
    assert await list_nodes(store) == []
    other = make_engine(store, target, clock)
    await other.start()
    await clock.pause(1)
    await other.stop()
    assert {each.task.id for each in target.invocations} == {task.id, careful.id}


async def test_stopped_node_does_not_rejoin(clock: VirtualClock) -> None:
    """A renewal loop after the leave would take the missing row for a recovery."""

    store = FaultyStore()
    engine = make_engine(
        SlowStore(store, clock, "leave", 2 * TERMS.renewal.total_seconds(), after=True), ScriptedTarget(), clock
    )
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    await clock.pause(60)
    assert store.count("join") == 1
    assert await list_nodes(store) == []


@pytest.mark.parametrize("hanging", [True, False])
async def test_unreachable_store_does_not_block_the_stop(
    clock: VirtualClock,
    hanging: bool,  # noqa: FBT001 - or failing
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        store = FaultyStore()
        engine = make_engine(store, ScriptedTarget(sleep_for(clock, 2)), clock, grace=5 * SECOND)
        task = await add_task(store, NOON, clock.now())
        await engine.start()
        await clock.pause(1)
        names = ("settle", "release", "leave", "claim_due", "renew_lease", "write_lines")
        if hanging:
            store.block(*names)
        else:
            for name in names:
                store.fail_before(name, times=1_000)
        before = clock.steady()
        await engine.stop()
        assert clock.steady() - before < 5 + CLEANUP_SECONDS + 2 * TERMS.lease.total_seconds() + 1
        assert [run.state for run in await list_runs(store.inner, task)] == [RunState.RUNNING]
        # Others recover what is left when the lease has run out.
        target = ScriptedTarget()
        other = make_engine(store.inner, target, clock)
        await other.start()
        await clock.pause(TERMS.lease.total_seconds() + 1)
        await other.stop()
        assert [each.run.attempt for each in target.invocations] == [2]
    assert "before all writes reached the store" in caplog.text


async def test_killed_node_settles_nothing_and_is_recovered(clock: VirtualClock) -> None:
    store = MemoryStore()
    dead = make_engine(store, ScriptedTarget(endless), clock)
    task = await add_task(store, NOON, clock.now())
    await dead.start()
    renewed = clock.steady()
    await clock.pause(1)
    dead.kill()
    dead.kill()
    target = ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(1)
    assert [run.state for run in await list_runs(store, task)] == [RunState.RUNNING]
    await wait_until(clock, lambda: bool(target.invocations))
    assert clock.steady() - renewed == pytest.approx(TERMS.lease.total_seconds(), abs=0.05)
    await engine.stop()
    lost, again = await list_runs(store, task)
    assert (lost.state, lost.reason) == (RunState.LOST, Reason.LEASE_LOST)
    assert (again.state, again.deaths) == (RunState.SUCCEEDED, 1)


async def test_failed_start_can_be_repeated(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await add_task(store, NOON, clock.now())
    for name in ("join", "renew_lease"):
        store.fail_before(name)
        with pytest.raises(StoreError):
            await engine.start()
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    assert len(target.invocations) == 1


@pytest.mark.parametrize(
    ("actor", "call"),
    [("dispatcher", "claim_due"), ("keeper", "renew_lease"), ("releaser", "release"), ("janitor", "read_metadata")],
)
async def test_error_in_an_engine_loop_is_raised(
    clock: VirtualClock, actor: str, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()

        async def act(invocation: Invocation) -> Outcome:
            if invocation.run.attempt == 1 and actor == "releaser":
                engine.runner.abandon(Reason.LEASE_LOST)
            return Succeeded()

        target = ScriptedTarget(act)
        engine = make_engine(store, target, clock)
        await engine.start()
        store.fail_before(call, error=ZeroDivisionError("a slip"), times=2)
        await clock.pause(TERMS.renewal.total_seconds() + 3)
        task = await add_task(store, clock.now(), clock.now())
        engine.notify()
        await wait_until(clock, lambda: bool(target.invocations), within=10)
        await clock.pause(5)
        assert engine.lease.is_held
        await engine.stop()
        assert (await list_runs(store, task))[-1].state is RunState.SUCCEEDED
    if actor != "janitor":
        assert f"the {actor} failed unexpectedly" in caplog.text
        assert "a slip" in caplog.text


async def test_failed_maintenance_is_logged_and_continues(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()
        store.fail_before("trim", error=ZeroDivisionError("a slip"))
        engine = make_engine(store, ScriptedTarget(), clock, upkeep_every=10 * SECOND)
        await engine.start()
        await clock.pause(35)
        await engine.stop()
        assert store.count("trim") == 4
    assert "the janitor failed unexpectedly" in caplog.text


async def test_two_nodes_share_the_work_and_run_each_occurrence_once(clock: VirtualClock) -> None:
    store = MemoryStore()
    targets = [ScriptedTarget(sleep_for(clock, 1)) for _ in range(2)]
    engines: list[Engine] = [make_engine(store, target, clock, capacity=5) for target in targets]
    for _ in range(20):
        await add_task(store, NOON + SECOND, clock.now())
    for engine in engines:
        await engine.start()
    await clock.pause(10)
    for engine in engines:
        await engine.stop()
    assert sorted(len(target.invocations) for target in targets) == [10, 10]
    runs = await list_runs(store)
    assert len(runs) == 20
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
