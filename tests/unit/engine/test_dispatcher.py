"""The dispatcher: never early, only with a lease and capacity, no spinning, no lost claims."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from horae.engine import dispatcher as dispatcher_module
from horae.engine.engine import Engine
from horae.errors import StoreError
from horae.lifecycle.fire import fire as really_fire
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.limits import CLAIM_SLICE
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.ports.target import Invocation
from horae.testing.factories import HOUR, MICROSECOND, NODE, NOON, SECOND, a_node
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    FaultyStore,
    ScriptedTarget,
    add_task,
    as_store,
    endless,
    list_runs,
    make_engine,
    wait_until,
)


async def holding_a_lease(engine: Engine, store: FaultyStore, clock: VirtualClock) -> None:
    """Renew the lease once."""
    await as_store(store).join(a_node())
    engine.lease.node = NODE
    engine.lease.mark_renewed(clock.steady())


async def test_nothing_is_claimed_early_not_even_by_a_microsecond(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await holding_a_lease(engine, store, clock)
    await add_task(store, NOON + SECOND, clock.now())
    clock.advance((SECOND - MICROSECOND).total_seconds())
    claim = await engine.dispatcher.step()
    assert (claim.runs, claim.next_due) == ((), NOON + SECOND)
    clock.advance(MICROSECOND.total_seconds())
    assert len((await engine.dispatcher.step()).runs) == 1


async def test_number_of_due_runs_is_logged(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await holding_a_lease(engine, store, clock)
    for _ in range(3):
        await add_task(store, NOON, clock.now())
    with caplog.at_level(logging.DEBUG, logger="horae"):
        await engine.dispatcher.step()
        await engine.dispatcher.step()
    assert [line for line in caplog.messages if "due" in line] == ["found 3 due runs"]


async def with_a_backlog(engine: Engine, store: FaultyStore, clock: VirtualClock, slices: int) -> None:
    """Add so many batches of due tasks, of which the first has been claimed."""
    await holding_a_lease(engine, store, clock)
    for _ in range(slices * CLAIM_SLICE):
        await add_task(store, NOON, clock.now())
    assert len((await engine.dispatcher.claim_slices()).runs) == CLAIM_SLICE


async def test_backlog_is_claimed_in_two_concurrent_batches(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock, capacity=4 * CLAIM_SLICE)
    await with_a_backlog(engine, store, clock, slices=4)
    store.block("claim_due")
    look = asyncio.ensure_future(engine.dispatcher.claim_slices())
    await clock.pause(1)
    assert store.count("claim_due") == 3
    store.unblock()
    claim = await look
    assert (len(claim.runs), claim.decided, claim.more) == (2 * CLAIM_SLICE, 2 * CLAIM_SLICE, True)
    assert len((await engine.dispatcher.claim_slices()).runs) == CLAIM_SLICE, "there is no room for two more"
    assert (store.count("claim_due"), engine.runner.free_capacity) == (4, 0)


async def test_failed_claim_does_not_affect_the_concurrent_one(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock, capacity=8 * CLAIM_SLICE)
    await with_a_backlog(engine, store, clock, slices=4)
    store.fail_before("claim_due")
    with pytest.raises(StoreError):
        await engine.dispatcher.claim_slices()
    assert engine.runner.active_count == 2 * CLAIM_SLICE
    claim = await engine.dispatcher.claim_slices()
    assert (len(claim.runs), claim.more, store.count("held")) == (CLAIM_SLICE, True, 1), (
        "one, after a look for lost ones"
    )


async def _limited_claims(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget(endless)
    engine = make_engine(store, target, clock, capacity=25, claim_limit=10)
    await holding_a_lease(engine, store, clock)
    for _ in range(30):
        await add_task(store, NOON, clock.now())

    sizes = [len((await engine.dispatcher.step()).runs) for _ in range(3)]

    assert sizes == [10, 10, 5]
    assert (engine.runner.active_count, engine.runner.free_capacity) == (25, 0)


async def test_a_claim_limit_bounds_each_claim_and_not_the_concurrency(clock: VirtualClock) -> None:
    await _limited_claims(clock)


async def test_nothing_is_claimed_without_a_lease(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await add_task(store, NOON, clock.now())
    await engine.dispatcher.step()
    await holding_a_lease(engine, store, clock)
    clock.advance(TERMS.self_stop.total_seconds())
    claim = await engine.dispatcher.step()
    assert not claim.more
    assert store.count("claim_due") == 0


async def test_claiming_stops_without_capacity_and_resumes(clock: VirtualClock) -> None:
    store, gate = FaultyStore(), asyncio.Event()

    async def act(_: Invocation) -> Outcome:
        await gate.wait()
        return Succeeded()

    target = ScriptedTarget(act)
    engine = make_engine(store, target, clock, capacity=3)
    for _ in range(8):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(60)
    assert (engine.runner.active_count, engine.runner.free_capacity) == (3, 0)
    assert len(target.invocations) == 3
    full = store.count("claim_due")
    await clock.pause(200)
    assert store.count("claim_due") == full, "it claims although nothing could be carried"
    gate.set()
    before = clock.now()
    await wait_until(clock, lambda: len(target.invocations) == 8, within=1)
    assert clock.now() - before < SECOND
    await engine.stop()
    assert {run.state for run in await list_runs(store)} == {RunState.SUCCEEDED}


async def test_full_polling_node_resumes_at_once(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock, capacity=2, precise=False)
    for _ in range(20):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: len(target.invocations) == 20, within=1)
    await engine.stop()


async def test_polling_claims_at_the_ceiling_and_not_before(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock, precise=False)
    await engine.start()
    await clock.pause(0.5)
    await add_task(store, NOON + SECOND, clock.now())
    engine.notify()
    await wait_until(clock, lambda: bool(target.invocations))
    assert clock.now() - NOON >= TERMS.poll_ceiling
    assert clock.now() - NOON < TERMS.poll_ceiling + SECOND
    await clock.pause(60)
    assert store.count("claim_due") <= 8, "a poll every ten seconds is all there is"
    await engine.stop()


async def test_an_idle_node_does_not_spin(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await add_task(store, NOON + HOUR, clock.now())
    await engine.start()
    await clock.pause(HOUR.total_seconds() - 1)
    assert store.count("claim_due") <= 2, "the keeper's looks are as good as polls"
    await clock.pause(1.001)
    assert len(target.invocations) == 1
    await engine.stop()


async def test_large_backlog_is_claimed_batch_by_batch_at_one_instant(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock, capacity=1_000)
    for _ in range(300):
        await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await wait_until(clock, lambda: len(target.invocations) == 300)
    assert clock.now() - NOON < SECOND + 100 * timedelta(milliseconds=1)
    await engine.stop()


async def test_runs_start_between_claim_batches(clock: VirtualClock) -> None:
    """The in-memory store never suspends, so the dispatcher must yield itself."""

    store, begun_at_claims = FaultyStore(), list[int]()

    async def act(_: Invocation) -> Outcome:
        begun_at_claims.append(store.count("claim_due"))
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock, capacity=1_000)
    for _ in range(500):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: len(begun_at_claims) == 500)
    assert begun_at_claims[0] < store.count("claim_due") - 1
    await engine.stop()


async def test_dispatcher_resumes_after_a_store_error(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await clock.pause(0.5)
    store.fail_before("claim_due", times=3)
    await wait_until(clock, lambda: bool(target.invocations))
    assert clock.now() - NOON < 4 * SECOND
    await engine.stop()
    assert [run.attempt for run in await list_runs(store, task)] == [1]


async def test_store_recovery_is_logged_only_after_a_successful_call(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Not when a node without a lease does not even ask."""

    with caplog.at_level(logging.WARNING, logger="horae"):
        store, target = FaultyStore(), ScriptedTarget()
        engine = make_engine(store, target, clock)
        await engine.start()
        await clock.pause(0.5)
        for name in ("claim_due", "renew_lease", "admit"):
            store.fail_before(name, times=1_000)
        await add_task(store, NOON + SECOND, clock.now())
        engine.notify()
        await clock.pause(2 * TERMS.lease.total_seconds())
        assert not engine.lease.is_held
        assert "claiming is paused" in caplog.text
        assert "claiming goes on" not in caplog.text
        for name in ("claim_due", "renew_lease", "admit"):
            store.fail_before(name, times=0)
        await wait_until(clock, lambda: bool(target.invocations), within=60)
        assert "claiming goes on" in caplog.text
        await engine.stop()


async def test_claim_with_a_lost_answer_is_found_and_run_again(clock: VirtualClock) -> None:
    """The node renews its lease, so no other node would recover the run."""

    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await clock.pause(0.5)
    store.fail_after("claim_due")
    await wait_until(clock, lambda: bool(target.invocations), within=3)
    await engine.stop()
    first, second = await list_runs(store, task)
    assert (first.state, first.reason, first.deaths) == (RunState.LOST, Reason.RELEASED, 0)
    assert (second.state, second.attempt, second.tries) == (RunState.SUCCEEDED, 2, 1)


async def test_active_and_unsettled_runs_are_not_lost_claims(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(invocation: Invocation) -> Outcome:
        await clock.pause(100 if len(target.invocations) == 1 else 0)
        return Succeeded(f'"{invocation.run.attempt}"')

    target = ScriptedTarget(act)
    engine = make_engine(store, target, clock)
    carried = await add_task(store, NOON, clock.now())
    await engine.start()
    await wait_until(clock, lambda: len(target.invocations) == 1)
    store.block("settle")
    ended = await add_task(store, NOON + SECOND, clock.now())
    engine.notify()
    await wait_until(clock, lambda: engine.settler.pending == 1)
    store.fail_before("claim_due")
    engine.notify()
    await clock.pause(5)
    assert store.count("held") == 1, "no search for lost claims"
    store.unblock()
    await clock.pause(200)
    await engine.stop()
    for task in (carried, ended):
        assert [run.state for run in await list_runs(store, task)] == [RunState.SUCCEEDED]


async def test_claim_answered_after_lease_loss_is_released(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    await holding_a_lease(engine, store, clock)
    task = await add_task(store, NOON, clock.now())
    store.block("claim_due")
    step = asyncio.ensure_future(engine.dispatcher.step())
    await clock.pause(TERMS.self_stop.total_seconds() + 1)
    store.unblock()
    assert len((await step).runs) == 1
    assert engine.runner.active_count == 0
    await engine.releaser.flush()
    assert target.invocations == []
    assert [run.reason for run in await list_runs(store, task)] == [Reason.RELEASED]


async def test_failing_decision_of_one_entry_does_not_stop_others(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store, target = FaultyStore(), ScriptedTarget()
        bad = await add_task(store, NOON + SECOND, clock.now())
        good = await add_task(store, NOON + SECOND, clock.now())
        broken = [True]

        def fire(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
            if facts.task.id == bad.id and broken[0]:
                raise LookupError(facts.task.id)
            return really_fire(facts, entry, token, claim)

        monkeypatch.setattr(dispatcher_module, "fire", fire)
        engine = make_engine(store, target, clock)
        await engine.start()
        await wait_until(clock, lambda: bool(target.invocations), within=10)
        assert target.invocations[0].task.id == good.id
        claims = store.count("claim_due")
        await clock.pause(50)
        assert store.count("claim_due") < claims + 10, "what cannot be decided is tried again and again"
        broken[0] = False
        await wait_until(clock, lambda: len(target.invocations) == 2, within=70)
        await engine.stop()
        facts = await as_store(store).facts(bad.id, None)
        assert facts is not None
        assert facts.status.state is TaskState.COMPLETED
    assert "decision for a due entry" in caplog.text
