"""A node that is drained: it claims nothing more, carries on what it has, and says when nothing is left."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.clock import SystemClock
from horae.engine.engine import Engine
from horae.engine.settings import EngineSettings
from horae.model.outcome import Outcome, Succeeded
from horae.model.run import RunState
from horae.ports.store import Terms
from horae.ports.target import Invocation
from horae.schedule import Every
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, SECOND, a_node
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    FaultyStore,
    RenewalLog,
    ScriptedTarget,
    add_task,
    as_store,
    endless,
    list_runs,
    make_engine,
    sleep_for,
    wait_until,
)

RENEWAL = TERMS.renewal.total_seconds()
PATIENCE = 60


async def drained(engine: Engine, clock: VirtualClock, within: float = 3_600) -> float:
    """When that was."""
    await wait_until(clock, engine.drained.is_set, within)
    return clock.steady()


async def test_it_claims_nothing_more_and_ends_what_it_carries(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget(sleep_for(clock, 20))
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    later = await add_task(store, NOON + 5 * SECOND, clock.now())
    assert await as_store(store).drain(engine.node)
    engine.notify()
    await wait_until(clock, lambda: engine.is_draining, within=1)
    claims = store.count("claim_due")
    assert await drained(engine, clock) == pytest.approx(20, abs=0.1), "as soon as the last run has been recorded"
    assert store.count("claim_due") == claims
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    assert await list_runs(store, later) == [], "what was due meanwhile is left for others"
    (node,) = await as_store(store).nodes()
    assert (node.draining, node.id) == (True, engine.node), "its lease is held until it leaves"
    await engine.stop()
    assert await as_store(store).nodes() == ()


async def test_without_a_ring_it_hears_of_it_with_the_next_renewal(clock: VirtualClock) -> None:
    store = MemoryStore()
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(0.1)
    await store.drain(engine.node)
    assert await drained(engine, clock) == pytest.approx(RENEWAL, abs=0.1)
    await engine.stop()


async def test_who_is_wanted_again_claims_again(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await store.drain(engine.node)
    await drained(engine, clock)
    await add_task(store, clock.now(), clock.now())
    await clock.pause(60)
    assert target.invocations == []
    await store.drain(engine.node, draining=False)
    engine.notify()
    await wait_until(clock, lambda: bool(target.invocations), within=1)
    assert not engine.drained.is_set()
    await engine.stop()


async def test_what_is_due_is_taken_by_another_node_on_time(clock: VirtualClock) -> None:
    store, going, staying = MemoryStore(), ScriptedTarget(), ScriptedTarget()
    first, second = make_engine(store, going, clock), make_engine(store, staying, clock)
    task = await add_task(store, Every(5 * SECOND), clock.now())
    await first.start()
    await second.start()
    await clock.pause(11)
    await store.drain(first.node)
    first.notify()
    await drained(first, clock, within=1)
    before = len(going.invocations)
    await clock.pause(60)
    runs = await list_runs(store, task)
    assert len(going.invocations) == before
    assert len(runs) == 14
    assert {run.lateness for run in runs} == {timedelta(0)}
    for engine in (first, second):
        await engine.stop()


async def test_an_answer_that_is_still_to_come_is_waited_for(clock: VirtualClock) -> None:
    """What a claim brings belongs to the node: it must not leave while one is on its way."""

    store, target = FaultyStore(), ScriptedTarget(sleep_for(clock, 5))
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(0.1)
    store.shut("claim_due")
    task = await add_task(store, clock.now(), clock.now())
    engine.notify()
    await clock.pause(0.1)
    await as_store(store).drain(engine.node)
    engine.notify()
    await clock.pause(8)
    assert engine.is_draining
    assert not engine.drained.is_set()
    store.open_again()
    await drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    await engine.stop()


async def test_a_claim_whose_answer_got_lost_is_handed_back_first(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(0.1)
    task = await add_task(store, clock.now(), clock.now())
    store.fail_after("claim_due")
    engine.wake_timer.notify()
    await clock.pause(0.1)
    await as_store(store).drain(engine.node)
    engine.notify()
    await drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.LOST]
    assert await as_store(store).held(engine.node) == ()
    await engine.stop()


async def test_what_could_not_be_recorded_yet_keeps_it(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    store.shut("settle")
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    await as_store(store).drain(engine.node)
    await clock.pause(30)
    assert engine.is_draining
    assert not engine.drained.is_set()
    store.open_again()
    await drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    await engine.stop()


async def test_a_node_that_is_full_hears_of_it_too(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(sleep_for(clock, 30))
    engine = make_engine(store, target, clock, capacity=1)
    for _ in range(3):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    await store.drain(engine.node)
    assert await drained(engine, clock) == pytest.approx(30, abs=0.1)
    assert len(target.invocations) == 1
    await engine.stop()


async def test_who_loses_its_lease_meanwhile_comes_back_as_one_that_goes(clock: VirtualClock) -> None:
    store = RenewalLog(clock)
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    before = engine.node
    await as_store(store).drain(before)
    await drained(engine, clock)
    await as_store(store).join(a_node(before, renewals=99))
    await as_store(store).leave(before)
    await wait_until(clock, lambda: engine.node != before, within=60)
    (node,) = await as_store(store).nodes()
    assert (node.id, node.draining) == (engine.node, True)
    await engine.stop()


async def test_who_starts_anew_is_not_drained_any_more(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await store.drain(engine.node)
    await drained(engine, clock)
    await engine.stop()
    await add_task(store, clock.now(), clock.now())
    await engine.start()
    assert not engine.drained.is_set()
    await wait_until(clock, lambda: bool(target.invocations), within=1)
    await engine.stop()


async def test_a_renewal_says_how_much_it_carries_of_how_much_it_can(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock, capacity=7, grace=timedelta(0))
    for _ in range(3):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(RENEWAL + 1)
    (node,) = await store.nodes()
    assert (node.load, node.capacity, bool(node.host)) == (3, 7, True)
    await engine.stop()


async def test_a_keeper_in_a_thread_of_its_own_tells_the_loop_of_the_runs() -> None:
    store, go_on = MemoryStore(), asyncio.Event()

    async def act(_: Invocation) -> Outcome:
        await go_on.wait()
        return Succeeded()

    target = ScriptedTarget(act)
    settings = EngineSettings(terms=Terms(lease=timedelta(seconds=0.8)), lease_thread=True)
    engine = Engine(as_store(store), {"stub": target}, SystemClock(), settings, version="1")
    now = SystemClock().now()
    task = await add_task(store, now, now)
    async with asyncio.timeout(PATIENCE):
        await engine.start()
        await target.started.wait()
        await store.drain(engine.node)
        engine.notify()
        while not engine.is_draining:
            await SystemClock().pause(0.01)
        assert not engine.drained.is_set()
        go_on.set()
        await engine.drained.wait()
        await engine.stop()
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
