"""`observe_store`: an observed store fulfils the store contract, and its decisions are counted when they are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from horae.clock import SystemClock
from horae.errors import StoreError
from horae.lifecycle.control.control import pause
from horae.model.run import RunState
from horae.observe import metric_definitions
from horae.observe.counters import MetricSet
from horae.observe.store import OPERATIONS, observe_store
from horae.ports.full_store import FullStore
from horae.ports.store import DEFAULT_TERMS
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts import StoreContract
from horae.testing.contracts.stores.claims.chains import ChainBench
from horae.testing.contracts.stores.setup import add_tasks, claim, start_run
from horae.testing.decisions import decide_start, lose_at, skip, start_everything, succeed
from horae.testing.factories import NODE, NOON, SECOND, a_node, a_settlement, a_task
from tests.observe.observed_app import TEST_SECONDS


class TestObservedStore(StoreContract):
    """An observed store fulfils the contract of a store."""

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        store = observe_store(MemoryStore(), MetricSet(), SystemClock(), DEFAULT_TERMS)
        await store.open()
        yield store
        await store.close()


class ManualSteadyClock(SystemClock):
    """A steady clock that moves only when a test sets it."""

    def __init__(self) -> None:
        self.at = 0.0

    def steady(self) -> float:
        return self.at


@asynccontextmanager
async def open_observed_store(
    inner: FullStore | None = None,
) -> AsyncIterator[tuple[FullStore, MetricSet, ManualSteadyClock]]:
    figures, clock = MetricSet(), ManualSteadyClock()
    store = observe_store(inner or MemoryStore(), figures, clock, DEFAULT_TERMS)
    async with asyncio.timeout(TEST_SECONDS):
        await store.open()
        yield store, figures, clock
        await store.close()


async def test_lateness_is_start_minus_due() -> None:
    async with open_observed_store() as (store, figures, _):
        await store.join(a_node())
        await add_tasks(store, a_task())
        await claim(store, NOON + timedelta(milliseconds=30))
        row = figures.histogram(metric_definitions.RUN_LATENESS).rows[()]
        assert row.sum == pytest.approx(0.03)
        assert row.counts[metric_definitions.LATENESS_BUCKETS.index(0.05)] == 1
        assert figures.counter(metric_definitions.STARTS).values[("scheduled",)] == 1


async def test_at_most_once_run_is_counted_when_it_is_started() -> None:
    async with open_observed_store() as (store, figures, _):
        run = await start_run(store, decide=decide_start(state=RunState.CLAIMED))
        assert run.state is RunState.CLAIMED
        starts = figures.counter(metric_definitions.STARTS)
        assert starts.values[("scheduled",)] == 0
        await store.start([(run.id, run.token)], NOON + SECOND)
        await store.start([(run.id, run.token)], NOON + SECOND)
        assert starts.values[("scheduled",)] == 1
        assert figures.histogram(metric_definitions.RUN_LATENESS).rows[()].sum == pytest.approx(1)


async def test_claimed_run_that_ends_without_a_start_is_forgotten() -> None:
    async with open_observed_store() as (store, figures, _):
        run = await start_run(store, decide=decide_start(state=RunState.CLAIMED))
        await store.settle([a_settlement(run)], succeed)
        assert figures.counter(metric_definitions.STARTS).values[("scheduled",)] == 0
        assert store._claimed == {}  # type: ignore[attr-defined]


async def test_stale_and_repeated_settlements_are_not_counted() -> None:
    async with open_observed_store() as (store, figures, _):
        run = await start_run(store)
        await store.settle([a_settlement(run, token=run.token + 1)], succeed)
        assert not figures.counter(metric_definitions.OUTCOMES).values
        await store.settle([a_settlement(run)], succeed)
        await store.settle([a_settlement(run)], succeed)
        assert figures.counter(metric_definitions.OUTCOMES).values == {("succeeded", ""): 1}
        assert figures.histogram(metric_definitions.RUN_DURATION).rows[()].sum == pytest.approx(1)


async def test_skipped_runs_are_counted_by_reason() -> None:
    async with open_observed_store() as (store, figures, _):
        await store.join(a_node())
        await add_tasks(store, a_task())
        await claim(store, decide=skip)
        ((reason, number),) = figures.counter(metric_definitions.SKIPPED).values.items()
        assert number == 1
        assert reason != ("",)


async def test_skips_by_a_link_are_counted() -> None:
    async with open_observed_store() as (store, figures, _):
        bench = ChainBench(store)
        await bench.join()
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.change(second, lambda facts: pause(facts, bench.now))
        await bench.fire_root(first)
        assert figures.counter(metric_definitions.SKIPPED).values == {("paused",): 1}


async def test_takeover_of_a_dead_node_is_counted_once() -> None:
    async with open_observed_store() as (store, figures, _):
        await start_run(store)
        await store.join(a_node("other"))
        assert await store.recover(NODE, 0, lose_at(), 256) == 1
        assert await store.recover(NODE, 0, lose_at(), 256) is None
        assert figures.counter(metric_definitions.TAKEOVERS).values == {(): 1}
        assert figures.counter(metric_definitions.RECOVERED).values == {(): 1}
        assert figures.counter(metric_definitions.OUTCOMES).values == {("lost", "lease_lost"): 1}
        assert not (await store.renew_lease(NODE, NOON)).held
        assert figures.counter(metric_definitions.LEASE_LOSSES).values == {("expired",): 0, ("taken",): 1}


@pytest.mark.parametrize(("silence", "losses"), [(11.0, 0), (12.0, 1)])
async def test_expired_lease_is_counted_as_lost(silence: float, losses: int) -> None:
    async with open_observed_store() as (store, figures, clock):
        await store.join(a_node())
        for _ in range(3):
            clock.at += 3
            await store.renew_lease(NODE, NOON)
        clock.at += silence + 0.001
        await store.renew_lease(NODE, NOON)
        assert figures.counter(metric_definitions.LEASE_LOSSES).values[("expired",)] == losses


async def test_failed_call_is_counted_and_raised(tmp_path: Path) -> None:
    async with open_observed_store(SQLiteStore(str(tmp_path / "h.db"))) as (store, figures, _):
        await store.close()
        with pytest.raises(StoreError):
            await store.claim_due(NOON, NODE, 1, start_everything)
        with pytest.raises(StoreError):
            await store.last_event()
        assert figures.counter(metric_definitions.STORE_ERRORS).values == {("claim_due",): 1, ("last_event",): 1}


async def test_calls_are_timed_by_operation() -> None:
    class Slow(MemoryStore):
        async def next_due(self) -> datetime | None:
            clock.at += 0.2
            return await super().next_due()

    clock, figures = ManualSteadyClock(), MetricSet()

    store = observe_store(Slow(), figures, clock, DEFAULT_TERMS)
    await store.open()
    await store.next_due()
    await store.nodes()
    await store.close()
    rows = figures.histogram(metric_definitions.STORE_CALLS).rows
    assert {name: row.sum for (name,), row in rows.items()} == {"next_due": pytest.approx(0.2), "nodes": 0}
    assert {name for (name,) in rows} <= OPERATIONS
