"""Admission of a node: its clock is within the tolerance of the store's, and its lease equals that of live nodes."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from horae.engine.engine import Engine
from horae.errors import Refusal, StoreUnavailable
from horae.ports.node_records import load_agreed_lease, make_lease_record
from horae.ports.store import DEFAULT_TERMS, Node, Terms
from horae.stores.memory import MemoryStore
from horae.testing.factories import DAY, HOUR, MICROSECOND, NOON, SECOND, a_node
from horae.virtual_time import VirtualClock
from horae.wire.problems import ExitCode, mapping_of
from tests.unit.engine.engine_setup import (
    SETTINGS,
    TERMS,
    RemoteClockStore,
    ScriptedTarget,
    add_task,
    as_store,
    list_runs,
    make_engine,
    wait_until,
)

LONG = Terms(lease=timedelta(seconds=120))
MINUTE = timedelta(minutes=1)


async def refused(engine: Engine) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await engine.start()
    return refusal.value


# --- clocks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [HOUR, -DAY, MINUTE + MICROSECOND, -MINUTE - MICROSECOND])
async def test_node_with_a_clock_beyond_the_tolerance_does_not_start(clock: VirtualClock, ahead: timedelta) -> None:
    store, target = RemoteClockStore(clock), ScriptedTarget()
    store.ahead = ahead
    await add_task(store, NOON - DAY, NOON - DAY)
    engine = make_engine(store, target, clock)
    refusal = await refused(engine)
    assert refusal.code == "clock_skew"
    assert isinstance(refusal, StoreUnavailable)
    assert mapping_of(refusal).exit == ExitCode.UNREACHABLE
    for said in (f"{NOON:%Y-%m-%d %H:%M:%S} UTC", f"{store.now:%Y-%m-%d %H:%M:%S} UTC", "at most 60 s"):
        assert said in refusal.message
    assert "timedatectl" in refusal.hint
    await clock.pause(60)
    assert (await store.nodes(), await list_runs(store), target.invocations) == ((), [], []), "nothing is left of it"
    store.ahead = timedelta(0)
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations), within=60)
    await engine.stop()


@pytest.mark.parametrize("ahead", [MINUTE, -MINUTE])
async def test_clock_within_the_tolerance_is_corrected(clock: VirtualClock, ahead: timedelta) -> None:
    store = RemoteClockStore(clock)
    store.ahead = ahead
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    assert engine.clock_offset == ahead
    await engine.stop()


async def test_clock_tolerance_is_configurable(clock: VirtualClock) -> None:
    store = RemoteClockStore(clock)
    store.ahead = 2 * SECOND
    assert (await refused(make_engine(store, ScriptedTarget(), clock, clock_tolerance=SECOND))).code == "clock_skew"
    engine = make_engine(store, ScriptedTarget(), clock, clock_tolerance=HOUR)
    store.ahead = HOUR
    await engine.start()
    await engine.stop()


async def test_clock_step_at_run_time_is_corrected_and_logged(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        store, target = RemoteClockStore(clock), ScriptedTarget()
        engine = make_engine(store, target, clock)
        await engine.start()
        store.ahead = DAY
        await clock.pause(2 * TERMS.solo_renewal.total_seconds())
        assert engine.clock_offset == DAY
        await add_task(store, store.now + 5 * SECOND, store.now)
        await wait_until(clock, lambda: bool(target.invocations), within=60)
        await engine.stop()
    assert "clock differs from the store's" in caplog.text


# --- leases --------------------------------------------------------------------------------------------------------------


async def test_lease_of_the_first_node_is_stored_for_later_nodes(clock: VirtualClock) -> None:
    store = MemoryStore()
    assert await load_agreed_lease(store) == DEFAULT_TERMS.lease
    engine = make_engine(store, ScriptedTarget(), clock, terms=LONG)
    await engine.start()
    await engine.stop()
    assert await load_agreed_lease(store) == LONG.lease


async def test_lease_that_differs_from_live_nodes_is_refused(clock: VirtualClock) -> None:
    store = MemoryStore()
    first = make_engine(store, ScriptedTarget(), clock, terms=LONG)
    await first.start()
    await clock.pause(100)
    second = make_engine(store, ScriptedTarget(), clock)
    refusal = await refused(second)
    assert refusal.code == "other_lease"
    assert mapping_of(refusal).exit == ExitCode.CONFLICT
    assert first.node in refusal.message
    assert "12 s" in refusal.message
    assert "--lease 120" in refusal.hint
    assert [node.id for node in await store.nodes()] == [first.node]
    assert await load_agreed_lease(store) == LONG.lease
    third = make_engine(store, ScriptedTarget(), clock, terms=LONG)
    await third.start()
    await third.stop()
    await first.stop()
    await second.start()
    assert await load_agreed_lease(store) == TERMS.lease, "when all are gone, another one may be chosen"
    await second.stop()


async def test_dead_node_does_not_fix_the_lease(clock: VirtualClock) -> None:
    store = MemoryStore()
    await store.put_record(make_lease_record(LONG.lease), replacing=None)
    await store.join(a_node("silent", renewed=NOON - LONG.lease - MICROSECOND))
    await store.join(a_node("gone", home="gone/1"))
    engine = Engine(
        as_store(store), {}, clock, SETTINGS, version="1", home="here/1", is_gone=lambda home: "gone" in home
    )
    await engine.start()
    assert await load_agreed_lease(store) == TERMS.lease
    await engine.stop()


class ConcurrentJoinStore(MemoryStore):
    """Another node joins between the read of the nodes and the write of the lease record."""

    def __init__(self, comes: Node) -> None:
        super().__init__()
        self._comes = comes

    async def put_record(self, record: object, *, replacing: int | None) -> bool:
        if replacing is not None:
            await self.join(self._comes)
        return await super().put_record(record, replacing=replacing)  # type: ignore[arg-type]


async def test_node_that_joins_during_admission_keeps_its_lease(clock: VirtualClock) -> None:
    store = ConcurrentJoinStore(a_node("other"))
    await MemoryStore.put_record(store, make_lease_record(LONG.lease), replacing=None)
    assert (await refused(make_engine(store, ScriptedTarget(), clock))).code == "other_lease"
    assert await load_agreed_lease(store) == LONG.lease
    assert [node.id for node in await store.nodes()] == ["other"]


@pytest.mark.parametrize("chosen", [(LONG, LONG, LONG), (TERMS, LONG, LONG)], ids=["the same", "different"])
async def test_nodes_that_start_concurrently_share_one_lease(clock: VirtualClock, chosen: tuple[Terms, ...]) -> None:
    store = MemoryStore()
    engines = [make_engine(store, ScriptedTarget(), clock, terms=terms) for terms in chosen]
    ends = await asyncio.gather(*(engine.start() for engine in engines), return_exceptions=True)
    running = {terms for terms, end in zip(chosen, ends, strict=True) if end is None}
    assert len(running) == 1
    assert await load_agreed_lease(store) == running.pop().lease
    if len(set(chosen)) == 1:
        assert ends == [None] * len(chosen)
    for engine in engines:
        await engine.stop()


async def test_failed_admission_leaves_no_node_row(clock: VirtualClock) -> None:
    class Failing(MemoryStore):
        async def get_record(self, *_arguments: object) -> None:
            raise StoreUnavailable("out of reach")

    store = Failing()
    engine = make_engine(store, ScriptedTarget(), clock)
    with pytest.raises(StoreUnavailable, match="out of reach"):
        await engine.start()
    assert await store.nodes() == ()
