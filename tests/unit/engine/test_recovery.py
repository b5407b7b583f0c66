"""Recovery of dead nodes: neither before their lease has expired nor later than necessary."""

from __future__ import annotations

from itertools import pairwise

from horae.engine.engine import Engine
from horae.engine.keeper import MAX_BATCH
from horae.model.task import Target
from horae.stores.memory import MemoryStore
from horae.testing.decisions import decide_start
from horae.testing.factories import NODE, a_new_task, a_node, a_task
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    FaultyStore,
    RenewalLog,
    ScriptedTarget,
    SlowStore,
    as_store,
    list_nodes,
    make_engine,
    wait_until,
)

LEASE, RENEWAL, SELF_STOP = (each.total_seconds() for each in (TERMS.lease, TERMS.renewal, TERMS.self_stop))


async def join_dead_node(store: object, clock: VirtualClock, count: int = 1) -> None:
    """Join a node with so many live runs that never renews."""
    whole = as_store(store)
    await whole.join(a_node())
    await whole.add([a_new_task(a_task(target=Target("stub", "{}"))) for _ in range(count)])
    claimed = 0
    while claimed < count:
        claimed += len((await whole.claim_due(clock.now(), NODE, count, decide_start())).runs)


async def test_silent_node_is_recovered_after_a_whole_lease_and_not_earlier(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    await join_dead_node(store, clock)
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(LEASE - 0.01)
    assert target.invocations == []
    await clock.pause(0.02)
    assert [each.run.attempt for each in target.invocations] == [2]
    assert target.invocations[0].run.deaths == 1
    await engine.stop()


async def test_a_node_that_renews_is_never_recovered(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    await join_dead_node(store, clock)
    engine = make_engine(store, target, clock)
    await engine.start()
    for _ in range(20):
        # Just in time each time, and once in a while late by the neighbour's own reckoning.
        await clock.pause(LEASE - 0.1)
        assert (await store.renew_lease(NODE, clock.now())).held
    assert target.invocations == []
    await clock.pause(LEASE + RENEWAL)
    assert len(target.invocations) == 1
    await engine.stop()


async def test_recovery_of_many_runs_does_not_delay_lease_renewal(clock: VirtualClock) -> None:
    store = RenewalLog(clock, MemoryStore())
    await join_dead_node(store, clock, count=8 * MAX_BATCH)
    engine = make_engine(SlowStore(store, clock, "recover", 2.0), ScriptedTarget(), clock, capacity=10_000)
    await engine.start()
    await clock.pause(LEASE + 8 * 2 + 10)
    late = [later - earlier for earlier, later in pairwise(store.renewed_at) if later < LEASE + 8 * 2]
    assert max(late) <= RENEWAL + 2.0
    assert engine.lease.is_held
    assert await list_nodes(store) == [engine.node]
    await engine.stop()


async def test_failed_recovery_is_retried_without_spinning(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    await join_dead_node(store, clock)
    engine = make_engine(store, target, clock)
    store.fail_before("recover", times=5)
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations), within=LEASE + 10)
    assert store.count("recover") == 6
    assert clock.steady() >= LEASE + 5 * 0.5
    await engine.stop()


async def test_first_node_after_an_outage_does_not_recover_live_ones(clock: VirtualClock) -> None:
    inner = MemoryStore()
    doors = [FaultyStore(inner), FaultyStore(inner)]
    engines = [make_engine(door, ScriptedTarget(), clock) for door in doors]
    for engine in engines:
        await engine.start()
        await clock.pause(1)
    # The first one has renewed for the last time, the second one has seen it.
    await clock.pause(RENEWAL)
    names = [engine.node for engine in engines]
    for door in doors:
        door.fail_before("renew_lease", times=1_000)
    await clock.pause(3 * LEASE)
    doors[1].fail_before("renew_lease", times=0)
    await clock.pause(2)
    doors[0].fail_before("renew_lease", times=0)
    await clock.pause(2 * LEASE)
    assert [engine.node for engine in engines] == names
    for engine in engines:
        await engine.stop()


async def test_node_of_a_dead_process_is_recovered_at_once(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget()
    await join_dead_node(store, clock)
    gone = a_node().home
    engine = Engine(
        as_store(store),
        {"stub": target},
        clock,
        make_engine(store, target, clock)._settings,
        version="1",
        home="here/1",
        is_gone=lambda home: home == gone,
    )
    await engine.start()
    await clock.pause(0.1)
    assert [each.run.attempt for each in target.invocations] == [2]
    await engine.stop()
