"""Settlement delay: from the end of a run to its commit, kept for some minutes and shown by the overview."""

from __future__ import annotations

import json
from datetime import timedelta

from horae.engine.settler import WRITE_INTERVAL_SECONDS
from horae.model.accounts.principal import Principal
from horae.model.counts import ALL_OWNERS
from horae.ports.node_records import (
    MAX_OWNERS,
    SETTLEMENT_DELAY,
    WINDOW,
    DelayWindow,
    SettlementDelay,
    load_settlement_delay,
    summarize_delays,
)
from horae.schedule import Every
from horae.service.runs.overview import Overview, Overviews
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, ScriptedTarget, SlowStore, add_task, as_store, make_engine

SECOND = timedelta(seconds=1)
NEIGHBOUR = Principal("neighbour")
STRANGER = Principal("stranger")
ADMIN = Principal("root", admin=True)


async def run_with_burst(clock: VirtualClock) -> dict[str, Overview]:
    """A one-second task beside another owner's 2,000, on a store that takes 0.3 s for 256 settlements."""
    store = MemoryStore()
    await add_task(store, Every(interval=SECOND), NOON, owner="neighbour")
    for _ in range(2_000):
        await add_task(store, NOON + 2 * SECOND, NOON, owner="crowd")
    engine = make_engine(SlowStore(store, clock, "settle", 0.3), ScriptedTarget(), clock, capacity=4_096)
    await engine.start()
    await clock.pause(30)
    overviews = Overviews(as_store(store), clock)
    seen = {who.owner: await overviews.now(who) for who in (NEIGHBOUR, STRANGER, ADMIN)}
    await engine.stop()
    return seen


async def test_overview_shows_the_settlement_delay_of_each_owner_apart(clock: VirtualClock) -> None:
    seen = await run_with_burst(clock)
    own, total = seen["neighbour"].settlement_delay, seen["root"].settlement_delay
    assert 20 <= own.counted <= 31
    assert total.counted == own.counted + 2_000
    assert own.p50 is not None
    assert 0.3 * SECOND <= own.p50 <= 0.4 * SECOND
    assert own.longest is not None
    assert total.longest is not None
    assert own.longest < SECOND < total.longest
    assert seen["stranger"].settlement_delay == SettlementDelay()


async def report_on_stop(clock: VirtualClock) -> SettlementDelay:
    store = MemoryStore()
    await add_task(store, NOON + SECOND, NOON)
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(1.1)
    await engine.stop()
    return await load_settlement_delay(as_store(store), None, clock.now())


async def test_node_that_stops_reports_its_last_settlements(clock: VirtualClock) -> None:
    assert (await report_on_stop(clock)).counted == 1


async def writes_of_two_nodes(clock: VirtualClock) -> tuple[int, int, int, SettlementDelay, SettlementDelay]:
    store = FaultyStore()
    await add_task(store, Every(interval=SECOND), NOON, owner="neighbour")
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    store.fail_before("put_record", times=2)
    await clock.pause(100)
    busy = store.count("put_record")
    await engine.stop()
    idle = make_engine(store, ScriptedTarget(), clock)
    other = make_engine(store, ScriptedTarget(), clock)
    await idle.start()
    await other.start()
    before = store.count("put_record")
    await clock.pause(60)
    both = store.count("put_record") - before
    await idle.stop()
    await other.stop()
    found = await load_settlement_delay(as_store(store), "neighbour", clock.now())
    clock.step(WINDOW + 60 * SECOND)
    return busy, both, found.counted, found, await load_settlement_delay(as_store(store), None, clock.now())


async def test_reports_of_nodes_are_added_up_and_expire(clock: VirtualClock) -> None:
    busy, both, counted, found, later = await writes_of_two_nodes(clock)
    assert busy <= 100 / WRITE_INTERVAL_SECONDS + 4
    assert both <= 2 * (60 / WRITE_INTERVAL_SECONDS + 1)
    assert counted >= 150
    assert found.p99 is not None
    assert later == SettlementDelay()


async def no_runs(clock: VirtualClock) -> int:
    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(600)
    await engine.stop()
    return [record.kind for record, *_ in store.arguments("put_record")].count(SETTLEMENT_DELAY)


async def test_idle_node_writes_no_report(clock: VirtualClock) -> None:
    assert (await no_runs(clock)) == 0


def test_percentiles_never_exceed_the_longest_delay() -> None:
    window = DelayWindow()
    window.add([("ada", NOON)] * 3, NOON + timedelta(milliseconds=9))
    read = DelayWindow.from_json(json.dumps(window.as_json()))
    nine = timedelta(milliseconds=9)
    assert summarize_delays(read.of("ada", NOON)) == SettlementDelay(3, nine, nine, nine)


def test_clock_that_was_set_back_makes_no_delay_negative() -> None:
    window = DelayWindow()
    window.add([("ada", NOON + SECOND)], NOON)
    zero = timedelta(0)
    assert summarize_delays(window.of("ada", NOON)) == SettlementDelay(1, zero, zero, zero)


def test_owners_beyond_the_limit_are_counted_in_the_total_only() -> None:
    window = DelayWindow()
    window.add([(f"owner{number}", NOON) for number in range(MAX_OWNERS + 5)], NOON + SECOND)
    assert summarize_delays(window.of(ALL_OWNERS, NOON)).counted == MAX_OWNERS + 5
    assert summarize_delays(window.of(f"owner{MAX_OWNERS - 1}", NOON)).counted == 1
    assert summarize_delays(window.of(f"owner{MAX_OWNERS}", NOON)).counted == 0


def test_minutes_before_the_window_are_dropped() -> None:
    window = DelayWindow()
    minutes = [NOON + number * timedelta(minutes=1) for number in range(20)]
    for at in minutes:
        window.add([("ada", at)], at)
    assert len(window.as_json()) == 5
    assert summarize_delays(window.of("ada", minutes[-1])).counted == 5
