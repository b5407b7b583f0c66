"""Idle runs: the declaration reaches the store, and the request to yield reaches the run, on any node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from horae.engine.engine import Engine
from horae.model.lanes.idle import IDLE_RUNS_KIND, YieldKind, YieldReason
from horae.model.outcome import Outcome, Succeeded
from horae.model.run import RunState
from horae.ports.target import Invocation
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, SECOND
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

OTHER_OWNER = YieldReason(YieldKind.OTHER_OWNER, "press")


def _until_yield(clock: VirtualClock, seen: list[YieldReason | None]) -> Callable[[Invocation], object]:
    async def act(invocation: Invocation) -> Outcome:
        invocation.idle()
        await wait_until(clock, lambda: invocation.yield_requested)
        seen.append(invocation.yield_reason)
        return Succeeded()

    return act


async def _idle_lanes(store: object) -> list[str]:
    return [record.key for record in (await as_store(store).records(IDLE_RUNS_KIND)).items]


async def _stop(*engines: Engine) -> None:
    for engine in engines:
        await engine.stop()


async def test_idle_run_yields_to_a_waiting_entry_of_another_owner(clock: VirtualClock) -> None:
    store, seen = FaultyStore(), list[YieldReason | None]()

    async def act(invocation: Invocation) -> Outcome:
        if invocation.run.owner == "bob":
            return Succeeded()
        invocation.idle()
        invocation.heartbeat()
        await wait_until(clock, lambda: invocation.yield_requested)
        seen.append(invocation.yield_reason)
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    first = await add_task(store, NOON, clock.now(), "press", "ada")
    second = await add_task(store, NOON + SECOND, clock.now(), "press", "bob")
    await engine.start()
    await clock.pause(2)
    await _stop(engine)
    assert seen == [OTHER_OWNER]
    (run,), (other,) = await list_runs(store, first), await list_runs(store, second)
    assert (run.state, other.state) == (RunState.SUCCEEDED, RunState.SUCCEEDED)
    assert [each.line.text for each in await as_store(store).lines(run.id)] == ["asked to yield: other_owner: press"]
    assert await _idle_lanes(store) == []


@pytest.mark.parametrize("wakes", [True, False])
async def test_request_of_another_node_arrives_with_a_wake_up_or_the_next_renewal(
    clock: VirtualClock, *, wakes: bool
) -> None:
    store, invocations = MemoryStore(), list[Invocation]()

    async def act(invocation: Invocation) -> Outcome:
        invocation.idle()
        invocations.append(invocation)
        await wait_until(clock, lambda: invocation.yield_requested)
        return Succeeded()

    first = make_engine(store, ScriptedTarget(act), clock)
    await add_task(store, NOON, clock.now(), "press", "ada")
    await first.start()
    await wait_until(clock, lambda: bool(invocations))
    first.dispatcher.close()
    second = make_engine(store, ScriptedTarget(), clock)
    if wakes:
        second.on_linked = first.notify
    await second.start()
    await clock.pause(3.5)
    other = await add_task(store, clock.now(), clock.now(), "press", "bob")
    second.notify()
    await clock.pause(0.2)
    assert invocations[0].yield_requested is wakes
    await clock.pause(3)
    assert invocations[0].yield_reason == OTHER_OWNER
    second.notify()
    await clock.pause(1)
    assert [run.state for run in await list_runs(store, other)] == [RunState.SUCCEEDED]
    await _stop(first, second)


async def test_progress_and_a_false_idle_take_the_request_back(clock: VirtualClock) -> None:
    store, invocations = FaultyStore(), list[Invocation]()

    async def act(invocation: Invocation) -> Outcome:
        invocations.append(invocation)
        await asyncio.get_running_loop().create_future()
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    await add_task(store, NOON, clock.now(), "press", "ada")
    await add_task(store, NOON, clock.now(), "press", "bob")
    await engine.start()
    await clock.pause(1)
    (invocation,) = invocations
    invocation.idle(idle=False)
    assert not invocation.yield_requested
    for take_back in (lambda: invocation.idle(idle=False), lambda: invocation.progress(0.5)):
        invocation.idle()
        invocation.idle()
        await clock.pause(1)
        assert invocation.yield_reason == OTHER_OWNER
        invocation.heartbeat()
        assert invocation.yield_requested
        take_back()
        assert (invocation.yield_requested, invocation.yield_reason) == (False, None)
        await clock.pause(5)
        assert not invocation.yield_requested
        assert await _idle_lanes(store) == []
    assert store.count("declare_idle") == 4
    invocation.idle()
    invocation.idle(idle=False)
    invocation.idle()
    await clock.pause(1)
    assert invocation.yield_reason == OTHER_OWNER
    engine.kill()


async def test_a_failing_store_delays_the_declaration(clock: VirtualClock) -> None:
    store, seen = FaultyStore(), list[YieldReason | None]()
    engine = make_engine(store, ScriptedTarget(_until_yield(clock, seen)), clock)  # type: ignore[arg-type]
    store.fail_before("declare_idle", 2)
    await add_task(store, NOON, clock.now(), "press", "ada")
    await engine.start()
    await clock.pause(3)
    assert store.count("declare_idle") == 3
    assert await _idle_lanes(store) == ["press"]
    await _stop(engine)
    assert seen == [YieldReason(YieldKind.NODE_STOPPING)]


async def test_a_run_without_lanes_declares_nothing(clock: VirtualClock) -> None:
    store, seen = FaultyStore(), list[YieldReason | None]()
    engine = make_engine(store, ScriptedTarget(_until_yield(clock, seen)), clock)  # type: ignore[arg-type]
    await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(3)
    assert store.count("declare_idle") == 0
    await _stop(engine)
