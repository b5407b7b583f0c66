"""Lease renewal: in time, abandoned in time, and cancel requests that reach their runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from itertools import pairwise

import pytest

from horae.engine.keeper import MIN_RENEWAL_SECONDS
from horae.lifecycle.recover import recover
from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.store import RunFilter
from horae.ports.target import Invocation
from horae.schedule import Every
from horae.service.tasks.tasks import Tasks
from horae.stores.memory import MemoryStore
from horae.testing.factories import DAY, HOUR, NOON, a_node
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    FaultyStore,
    RenewalLog,
    ScriptedTarget,
    SlowStore,
    add_task,
    as_store,
    endless,
    list_nodes,
    list_runs,
    make_engine,
    wait_until,
)

LEASE, RENEWAL, SELF_STOP = (each.total_seconds() for each in (TERMS.lease, TERMS.renewal, TERMS.self_stop))


# --- its own lease -------------------------------------------------------------------------------------------------------


async def test_holder_of_runs_renews_four_times_per_lease(clock: VirtualClock) -> None:
    store = RenewalLog(clock)
    engine = make_engine(store, ScriptedTarget(endless), clock)
    await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(30)
    await engine.stop()
    renewed = store.renewed_at
    assert renewed[:2] == [0, RENEWAL]
    assert {later - earlier for earlier, later in pairwise(renewed)} == {RENEWAL}


async def test_node_without_runs_and_without_peers_renews_twice_per_lease(clock: VirtualClock) -> None:
    store = RenewalLog(clock)
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(30)
    assert {later - earlier for earlier, later in pairwise(store.renewed_at)} == {LEASE / 2}
    assert engine.lease.is_held
    await engine.stop()


async def test_node_with_peers_renews_four_times_per_lease(clock: VirtualClock) -> None:
    """Each of two nodes must see within T/4 that the other has renewed, so that it takes over in time."""
    store = RenewalLog(clock)
    engines = [make_engine(store, ScriptedTarget(), clock) for _ in range(2)]
    for engine in engines:
        await engine.start()
    await clock.pause(LEASE)
    before = len(store.renewed_at)
    await clock.pause(LEASE)
    assert len(store.renewed_at) - before == 8
    for engine in engines:
        await engine.stop()


@pytest.mark.parametrize("after", [0.5, 1.5])
async def test_node_that_takes_work_renews_at_once_if_its_renewal_is_older_than_a_quarter(
    clock: VirtualClock, after: float
) -> None:
    store = RenewalLog(clock)
    engine = make_engine(store, ScriptedTarget(endless), clock)
    await engine.start()
    await clock.pause(LEASE + 0.1)
    last = store.renewed_at[-1]
    await clock.pause(after * RENEWAL)
    await add_task(store, clock.now(), clock.now())
    engine.wake_timer.notify()
    claimed = clock.steady()
    await clock.pause(LEASE / 2)
    following = [at for at in store.renewed_at if at > last]
    assert following[0] == pytest.approx(max(claimed, last + RENEWAL), abs=0.1)
    assert following[1] - following[0] == pytest.approx(RENEWAL)
    await engine.stop()


@pytest.mark.parametrize("hanging", [True, False])
async def test_runs_stop_before_lease_expiry_when_the_store_is_unreachable(clock: VirtualClock, hanging: bool) -> None:  # noqa: FBT001 - or failing
    store, ended_at = RenewalLog(clock), list[float]()

    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        finally:
            ended_at.append(clock.steady())
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(20)
    last = store.renewed_at[-1]
    if hanging:
        store.block("renew_lease", "release", "claim_due")
    else:
        for name in ("renew_lease", "release", "claim_due"):
            store.fail_before(name, times=1_000)
    await wait_until(clock, lambda: bool(ended_at), within=60)
    assert ended_at == [pytest.approx(last + SELF_STOP)]
    assert not engine.lease.is_held
    await clock.pause(60)
    assert [run.state for run in await list_runs(store, task)] == [RunState.RUNNING]
    engine.kill()


async def test_hanging_store_after_an_error_does_not_extend_the_lease(clock: VirtualClock) -> None:
    store, ended_at = RenewalLog(clock), list[float]()

    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        finally:
            ended_at.append(clock.steady())
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(20)
    last = store.renewed_at[-1]
    store.fail_before("renew_lease", times=1_000)
    await clock.pause(last + SELF_STOP - 2 - clock.steady())
    store.block("renew_lease", "release")
    await clock.pause(60)
    assert ended_at == [pytest.approx(last + SELF_STOP)]
    engine.kill()


async def test_abandoned_runs_are_released_when_the_store_is_back(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(invocation: Invocation) -> Outcome:
        if invocation.run.attempt == 1:
            await endless(invocation)
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(5)
    node = engine.node
    store.block("renew_lease", "release", "claim_due", "settle")
    await clock.pause(20)
    store.unblock()
    await clock.pause(LEASE)
    await engine.stop()
    first, second = await list_runs(store, task)
    assert (first.state, first.reason, first.deaths) == (RunState.LOST, Reason.RELEASED, 0)
    assert second.state is RunState.SUCCEEDED
    assert engine.node == node, "it was not recovered"


async def test_recovered_node_abandons_its_runs_and_rejoins_with_a_new_id(clock: VirtualClock) -> None:
    store, ended = FaultyStore(), list[str]()

    async def act(invocation: Invocation) -> Outcome:
        if invocation.run.attempt == 1:
            try:
                await endless(invocation)
            finally:
                ended.append(invocation.run.id)
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    before = engine.node
    whole = as_store(store.inner)
    mine = (await whole.runs(RunFilter())).items[0]
    await whole.join(a_node("other"))
    renewals = next(node.renewals for node in (await whole.renew_lease("other", NOON)).nodes if node.id == before)
    await whole.leave("other")
    assert await whole.recover(before, renewals, partial(recover, now=clock.now()), 10) == 1
    await clock.pause(RENEWAL + 1)
    assert ended == [mine.id]
    assert engine.node != before
    assert await list_nodes(store) == [engine.node]
    await engine.stop()
    assert [run.state for run in await list_runs(store, task)] == [RunState.LOST, RunState.SUCCEEDED]


async def test_clock_step_does_not_expire_the_lease(clock: VirtualClock) -> None:
    store = MemoryStore()
    targets = [ScriptedTarget(endless), ScriptedTarget(endless)]
    engines = [make_engine(store, target, clock) for target in targets]
    await add_task(store, NOON, clock.now())
    for engine in engines:
        await engine.start()
    await clock.pause(5)
    names = [engine.node for engine in engines]
    for step in (DAY, -2 * DAY, HOUR):
        clock.step(step)
        await clock.pause(30)
    assert [engine.node for engine in engines] == names
    assert all(engine.lease.is_held for engine in engines)
    assert [run.state for run in await list_runs(store)] == [RunState.RUNNING]
    for engine in engines:
        engine.kill()


# --- orders --------------------------------------------------------------------------------------------------------------


async def test_cancel_request_arrives_with_the_next_renewal(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(RENEWAL + 0.5)
    await Tasks(store, clock).cancel(LOCAL, task.id)  # without notification
    await clock.pause(RENEWAL - 1)
    assert not target.invocations[0].cancelled
    await clock.pause(1)
    (run,) = await list_runs(store, task)
    assert run.state is RunState.CANCELLED
    await engine.stop()


async def test_notification_during_a_renewal_is_not_lost(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(endless)
    task = await add_task(store, NOON, clock.now())
    engine = make_engine(SlowStore(store, clock, "renew_lease", 0.2, after=True), target, clock)
    await engine.start()
    await wait_until(clock, lambda: clock.steady() >= 3.25)
    # The renewal of this moment has been written, and its answer is under way: it does not know of this.
    await Tasks(store, clock, on_write=lambda _due: engine.notify()).cancel(LOCAL, task.id)
    await clock.pause(0.5)
    assert target.invocations[0].cancelled
    await engine.stop()


async def test_many_notifications_are_coalesced_into_few_renewals(clock: VirtualClock) -> None:
    store = RenewalLog(clock, MemoryStore())
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    for _ in range(1_000):
        await clock.pause(0.001)
        engine.notify()
    assert len(store.renewed_at) <= 2 + 1 / MIN_RENEWAL_SECONDS
    after = len(store.renewed_at)
    await clock.pause(10 * RENEWAL)
    assert len(store.renewed_at) <= after + 11, "one ring is one look"
    await engine.stop()


async def test_replaced_run_is_cancelled(clock: VirtualClock) -> None:
    store, target = MemoryStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock)
    every = Every(interval=timedelta(seconds=20))
    task = await add_task(store, every, clock.now(), overlap="replace")
    await engine.start()
    await clock.pause(65)
    await engine.stop()
    states = [run.state for run in await list_runs(store, task)]
    assert states[:2] == [RunState.CANCELLED, RunState.CANCELLED]
    assert len(target.invocations) == 3


async def test_renewal_loop_can_be_cancelled_at_any_moment(clock: VirtualClock) -> None:
    """`wait_for` would swallow a cancellation that meets the end of what it waits for."""

    for moment in (0.0, 0.1, RENEWAL, RENEWAL + 0.1, 2 * RENEWAL):
        engine = make_engine(SlowStore(MemoryStore(), clock, "renew_lease", 0.1), ScriptedTarget(), clock)
        await engine.start()
        await clock.pause(moment)
        keeper = engine._actors["keeper"]
        keeper.cancel()
        await asyncio.wait([keeper], timeout=1)
        assert keeper.done()
        engine.kill()
