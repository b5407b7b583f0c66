"""The settler and the releaser: many ends in one commit, nothing lost or reordered when the store fails."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from horae.engine import settler as settler_module
from horae.engine.alarm import WakeTimer
from horae.engine.releaser import MAX_BATCH as RELEASED_AT_ONCE
from horae.engine.releaser import Releaser
from horae.engine.settler import MAX_BATCH, Settler
from horae.errors import StoreError
from horae.lifecycle.settle import settle as really_settle
from horae.model.change import Change, Facts
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.policy import RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.ports.store import Claimed
from horae.ports.target import Invocation
from horae.testing.decisions import start_everything
from horae.testing.factories import HOUR, NODE, NOON, SECOND, a_new_task, a_node, a_settlement, a_task
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

CEILING = 10 * SECOND


async def claim_runs(store: FaultyStore, count: int) -> list[Run]:
    """Claim so many runs, each of its own task."""
    whole = as_store(store)
    await whole.join(a_node())
    await whole.add([a_new_task(a_task()) for _ in range(count)])
    found: list[Claimed] = []
    while len(found) < count:
        found += (await whole.claim_due(NOON, NODE, count, start_everything)).runs
    return [run for _, run in found]


def make_settler(store: FaultyStore, clock: VirtualClock) -> tuple[Settler, WakeTimer]:
    alarm = WakeTimer(clock, CEILING)
    return Settler(as_store(store), alarm, clock), alarm


async def test_many_ended_runs_are_one_write(clock: VirtualClock) -> None:
    store = FaultyStore()
    runs = await claim_runs(store, 100)
    settler, _ = make_settler(store, clock)
    for run in runs:
        settler.add(a_settlement(run))
    assert settler.pending == 100
    await settler.flush()
    assert (settler.pending, store.count("settle")) == (0, 1)
    assert {run.state for run in await list_runs(store)} == {RunState.SUCCEEDED}


async def test_large_backlogs_settle_in_batches_in_order(clock: VirtualClock) -> None:
    store = FaultyStore()
    settlements = [a_settlement(run) for run in await claim_runs(store, MAX_BATCH + 10)]
    settler, _ = make_settler(store, clock)
    for settlement in settlements:
        settler.add(settlement)
    await settler.flush()
    batches = [batch for batch, _ in store.arguments("settle")]
    assert [len(batch) for batch in batches] == [MAX_BATCH, 10]
    assert [each for batch in batches for each in batch] == settlements


async def test_second_concurrent_write_needs_more_than_one_batch(clock: VirtualClock) -> None:
    store = FaultyStore()
    settlements = [a_settlement(run) for run in await claim_runs(store, 2 * MAX_BATCH + 10)]
    settler, _ = make_settler(store, clock)
    actor = asyncio.ensure_future(settler.run())
    store.block("settle")
    for settlement in settlements[: MAX_BATCH + 10]:
        settler.add(settlement)
    await clock.pause(1)
    assert store.count("settle") == 1, "ten are too few for a write of their own beside another one"
    for settlement in settlements[MAX_BATCH + 10 :]:
        settler.add(settlement)
    await clock.pause(1)
    assert store.count("settle") == 2
    assert settler.pending == len(settlements)
    assert all(settler.has_settlement(settlement.run_id) for settlement in settlements)
    store.unblock()
    await wait_until(clock, lambda: settler.pending == 0, within=5)
    actor.cancel()
    batches = [batch for batch, _ in store.arguments("settle")]
    assert [len(batch) for batch in batches] == [MAX_BATCH, MAX_BATCH, 10]
    assert [each for batch in batches for each in batch] == settlements


async def test_failure_of_one_of_two_writes_loses_nothing(clock: VirtualClock) -> None:
    store = FaultyStore()
    settlements = [a_settlement(run) for run in await claim_runs(store, 2 * MAX_BATCH)]
    settler, _ = make_settler(store, clock)
    store.fail_before("settle")
    actor = asyncio.ensure_future(settler.run())
    for settlement in settlements:
        settler.add(settlement)
    await wait_until(clock, lambda: settler.pending == 0, within=5)
    actor.cancel()
    assert {run.state for run in await list_runs(store)} == {RunState.SUCCEEDED}


async def test_failed_batch_is_retried_first(clock: VirtualClock) -> None:
    store = FaultyStore()
    first, second, third = [a_settlement(run) for run in await claim_runs(store, 3)]
    settler, _ = make_settler(store, clock)
    settler.add(first)
    settler.add(second)
    store.fail_before("settle")
    store.block("settle")
    step = asyncio.ensure_future(settler.step())
    await clock.pause(1)
    settler.add(third)
    assert settler.pending == 3
    assert settler.has_settlement(first.run_id)
    store.unblock()
    with pytest.raises(StoreError):
        await step
    assert settler.pending == 3
    await settler.step()
    assert store.arguments("settle")[-1][0] == (first, second, third)
    assert not settler.has_settlement(first.run_id)


@pytest.mark.parametrize("written", [False, True])
async def test_settlement_is_retried_until_written(clock: VirtualClock, written: bool) -> None:  # noqa: FBT001 - before or after the commit
    store = FaultyStore()
    runs = await claim_runs(store, 5)
    settler, _ = make_settler(store, clock)
    (store.fail_after if written else store.fail_before)("settle", times=3)
    actor = asyncio.ensure_future(settler.run())
    for run in runs:
        settler.add(a_settlement(run))
    await wait_until(clock, lambda: settler.pending == 0, within=5)
    actor.cancel()
    assert store.count("settle") == 4
    ended = [event.event for event in await as_store(store).events(0) if event.event.kind == "run.succeeded"]
    assert len(ended) == 5, "settling twice must change nothing"


async def test_lost_settle_answer_still_wakes_the_alarm(clock: VirtualClock) -> None:
    store, alarm_at = FaultyStore(), list[timedelta]()
    failing = RetryPolicy(backoff=timedelta(0))

    async def act(invocation: Invocation) -> Outcome:
        alarm_at.append(clock.now() - NOON)
        return Failed("again") if invocation.run.attempt < 4 else Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    await add_task(store, NOON + SECOND, clock.now(), retry=failing)
    await engine.start()
    await clock.pause(0.5)
    store.fail_after("settle")
    await wait_until(clock, lambda: len(alarm_at) == 4, within=2)
    await engine.stop()


async def test_freed_lane_slot_is_used_at_once(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(_: Invocation) -> Outcome:
        await clock.pause(3)
        return Succeeded()

    target = ScriptedTarget(act)
    engine = make_engine(store, target, clock)
    for _ in range(3):
        await add_task(store, NOON, clock.now(), lane="press")
    await engine.start()
    await clock.pause(20)
    await engine.stop()
    started = [(run.started - NOON).total_seconds() for run in await list_runs(store) if run.started is not None]
    assert sorted(round(each, 2) for each in started) == [0, 3, 6]


async def test_waiters_are_notified_of_ended_tasks(clock: VirtualClock) -> None:
    store, heard = FaultyStore(), list[set[str]]()
    runs = await claim_runs(store, 3)
    settler, _ = make_settler(store, clock)
    settler.on_settled = lambda tasks: heard.append(set(tasks))
    for run in runs[:2]:
        settler.add(a_settlement(run))
    await settler.flush()
    assert heard == [{run.task_id for run in runs[:2]}]


@pytest.mark.parametrize("error", [UnicodeError("that text cannot be written"), StoreError("it contradicts the rest")])
async def test_settlement_that_cannot_be_applied_fails_alone(
    clock: VirtualClock, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()
        bad, *good = await claim_runs(store, 4)

        def settle(facts: Facts, run: Run, report: Settlement) -> Change:
            if run.id == bad.id and isinstance(report.outcome, Succeeded):
                raise error
            return really_settle(facts, run, report)

        monkeypatch.setattr(settler_module, "settle", settle)
        settler, _ = make_settler(store, clock)
        for run in (good[0], bad, good[1], good[2]):
            settler.add(a_settlement(run))
        await settler.flush()
        assert settler.pending == 0
        after = {run.id: run for run in await list_runs(store) if run.attempt == 1}
        assert {after[run.id].state for run in good} == {RunState.SUCCEEDED}
        assert after[bad.id].state is RunState.FAILED
        told = after[bad.id].error
        assert told is not None
        assert "could not be recorded" in told
    assert "cannot be recorded as it is" in caplog.text


async def test_error_text_of_a_failed_settlement_can_be_stored(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("horae"), "disabled", True)

    store = FaultyStore()
    (bad,) = await claim_runs(store, 1)

    def settle(facts: Facts, run: Run, report: Settlement) -> Change:
        if isinstance(report.outcome, Succeeded):
            raise UnicodeError("half of a pair: \ud800")
        return really_settle(facts, run, report)

    monkeypatch.setattr(settler_module, "settle", settle)
    settler, _ = make_settler(store, clock)
    settler.add(a_settlement(bad))
    await settler.flush()
    (run,) = await list_runs(store)
    assert run.error is not None
    assert run.error.isascii()


async def test_run_that_cannot_be_settled_does_not_block_others(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()
        bad, good = await claim_runs(store, 2)

        def settle(facts: Facts, run: Run, report: Settlement) -> Change:
            if run.id == bad.id:
                raise LookupError(run.id)
            return really_settle(facts, run, report)

        monkeypatch.setattr(settler_module, "settle", settle)
        settler, _ = make_settler(store, clock)
        settler.add(a_settlement(bad))
        settler.add(a_settlement(good))
        await settler.flush()
        assert settler.pending == 0
        assert {run.id: run.state for run in await list_runs(store)} == {
            bad.id: RunState.RUNNING,
            good.id: RunState.SUCCEEDED,
        }
    assert "cannot be ended at all" in caplog.text


async def test_store_error_during_single_settlements_loses_nothing(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL, logger="horae"):
        store = FaultyStore()
        bad, *good = await claim_runs(store, 3)

        def settle(facts: Facts, run: Run, report: Settlement) -> Change:
            if run.id == bad.id and isinstance(report.outcome, Succeeded):
                store.fail_before("settle", times=2)
                raise LookupError(run.id)
            return really_settle(facts, run, report)

        monkeypatch.setattr(settler_module, "settle", settle)
        settler, _ = make_settler(store, clock)
        for run in (good[0], bad, good[1]):
            settler.add(a_settlement(run))
        with pytest.raises(StoreError):
            await settler.step()
        assert settler.pending == 3
        store.fail_before("settle", times=0)
        monkeypatch.setattr(settler_module, "settle", really_settle)
        await settler.flush()
        assert {run.state for run in await list_runs(store)} == {RunState.SUCCEEDED}


# --- the releaser --------------------------------------------------------------------------------------------------------


def make_releaser(store: FaultyStore, clock: VirtualClock) -> Releaser:
    return Releaser(as_store(store), WakeTimer(clock, CEILING), clock)


async def test_released_run_is_lost_and_due_again(clock: VirtualClock) -> None:
    store = FaultyStore()
    runs = await claim_runs(store, 3)
    releaser = make_releaser(store, clock)
    releaser.add([(run.id, run.token) for run in runs])
    await releaser.flush()
    assert {(run.state, run.reason) for run in await list_runs(store)} == {(RunState.LOST, Reason.RELEASED)}
    assert await as_store(store).next_due() == NOON


async def test_concurrent_releases_release_each_run_once(clock: VirtualClock) -> None:
    """At a stop, the last flush may overlap with the releaser's loop."""

    store = FaultyStore()
    runs = await claim_runs(store, 2 * RELEASED_AT_ONCE + 10)
    releaser = make_releaser(store, clock)
    actor = asyncio.ensure_future(releaser.run())
    store.block("release")
    releaser.add([(run.id, run.token) for run in runs])
    await clock.pause(1)
    flush = asyncio.ensure_future(releaser.flush())
    await clock.pause(1)
    store.unblock()
    await flush
    await clock.pause(1)
    actor.cancel()
    assert {run.state for run in await list_runs(store)} == {RunState.LOST}


async def test_release_is_retried_when_the_store_is_back(clock: VirtualClock) -> None:
    store = FaultyStore()
    runs = await claim_runs(store, 3)
    releaser = make_releaser(store, clock)
    actor = asyncio.ensure_future(releaser.run())
    store.fail_before("release", times=4)
    releaser.add([(run.id, run.token) for run in runs])
    await clock.pause(HOUR.total_seconds())
    actor.cancel()
    assert store.count("release") == 5
    assert {run.state for run in await list_runs(store)} == {RunState.LOST}
