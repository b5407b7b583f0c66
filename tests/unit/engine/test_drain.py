"""Drain: the node claims nothing more, finishes its runs, and reports when it is empty."""

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


async def wait_until_drained(engine: Engine, clock: VirtualClock, within: float = 3_600) -> float:
    """When that was."""
    await wait_until(clock, engine.drained.is_set, within)
    return clock.steady()


async def test_draining_node_claims_nothing_and_finishes_its_runs(clock: VirtualClock) -> None:
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
    assert await wait_until_drained(engine, clock) == pytest.approx(20, abs=0.1), (
        "as soon as the last run has been recorded"
    )
    assert store.count("claim_due") == claims
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    assert await list_runs(store, later) == [], "what was due meanwhile is left for others"
    (node,) = await as_store(store).nodes()
    assert (node.draining, node.id) == (True, engine.node), "its lease is held until it leaves"
    await engine.stop()
    assert await as_store(store).nodes() == ()


async def test_drain_is_noticed_at_the_next_renewal(clock: VirtualClock) -> None:
    store = MemoryStore()
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(0.1)
    await store.drain(engine.node)
    assert await wait_until_drained(engine, clock) == pytest.approx(TERMS.solo_renewal.total_seconds(), abs=0.1)
    await engine.stop()


async def test_revoked_drain_resumes_claiming(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await store.drain(engine.node)
    await wait_until_drained(engine, clock)
    await add_task(store, clock.now(), clock.now())
    await clock.pause(60)
    assert target.invocations == []
    await store.drain(engine.node, draining=False)
    engine.notify()
    await wait_until(clock, lambda: bool(target.invocations), within=1)
    assert not engine.drained.is_set()
    await engine.stop()


async def test_due_entries_of_a_draining_node_start_elsewhere_on_time(clock: VirtualClock) -> None:
    store, going, staying = MemoryStore(), ScriptedTarget(), ScriptedTarget()
    first, second = make_engine(store, going, clock), make_engine(store, staying, clock)
    task = await add_task(store, Every(5 * SECOND), clock.now())
    await first.start()
    await second.start()
    await clock.pause(11)
    await store.drain(first.node)
    first.notify()
    await wait_until_drained(first, clock, within=1)
    before = len(going.invocations)
    await clock.pause(60)
    runs = await list_runs(store, task)
    assert len(going.invocations) == before
    assert len(runs) == 14
    assert {run.lateness for run in runs} == {timedelta(0)}
    for engine in (first, second):
        await engine.stop()


async def test_drain_waits_for_a_pending_claim(clock: VirtualClock) -> None:
    """A claim on its way belongs to the node, which must not leave before."""

    store, target = FaultyStore(), ScriptedTarget(sleep_for(clock, 5))
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(0.1)
    store.block("claim_due")
    task = await add_task(store, clock.now(), clock.now())
    engine.notify()
    await clock.pause(0.1)
    await as_store(store).drain(engine.node)
    engine.notify()
    await clock.pause(8)
    assert engine.is_draining
    assert not engine.drained.is_set()
    store.unblock()
    await wait_until_drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    await engine.stop()


async def test_drain_first_releases_a_claim_with_a_lost_answer(clock: VirtualClock) -> None:
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
    await wait_until_drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.LOST]
    assert await as_store(store).held(engine.node) == ()
    await engine.stop()


async def test_drain_waits_for_unsettled_runs(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    store.block("settle")
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    await as_store(store).drain(engine.node)
    await clock.pause(30)
    assert engine.is_draining
    assert not engine.drained.is_set()
    store.unblock()
    await wait_until_drained(engine, clock)
    assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]
    await engine.stop()


async def test_full_node_notices_the_drain(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(sleep_for(clock, 30))
    engine = make_engine(store, target, clock, capacity=1)
    for _ in range(3):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    await store.drain(engine.node)
    assert await wait_until_drained(engine, clock) == pytest.approx(30, abs=0.1)
    assert len(target.invocations) == 1
    await engine.stop()


async def test_node_that_rejoins_while_draining_keeps_draining(clock: VirtualClock) -> None:
    store = RenewalLog(clock)
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    before = engine.node
    await as_store(store).drain(before)
    await wait_until_drained(engine, clock)
    await as_store(store).join(a_node(before, renewals=99))
    await as_store(store).leave(before)
    await wait_until(clock, lambda: engine.node != before, within=60)
    (node,) = await as_store(store).nodes()
    assert (node.id, node.draining) == (engine.node, True)
    await engine.stop()


async def test_restarted_node_is_not_draining(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await engine.start()
    await store.drain(engine.node)
    await wait_until_drained(engine, clock)
    await engine.stop()
    await add_task(store, clock.now(), clock.now())
    await engine.start()
    assert not engine.drained.is_set()
    await wait_until(clock, lambda: bool(target.invocations), within=1)
    await engine.stop()


async def test_renewal_reports_load_and_capacity(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock, capacity=7, grace=timedelta(0))
    for _ in range(3):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(RENEWAL + 1)
    (node,) = await store.nodes()
    assert (node.load, node.capacity, bool(node.host)) == (3, 7, True)
    await engine.stop()


async def test_lease_thread_reports_the_drain_to_the_event_loop() -> None:
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
