"""Clock correction: nodes follow the clock of the store by the measured offset."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import pytest

from horae.engine.store_clock import CorrectedClock
from horae.stores.memory import MemoryStore
from horae.testing.factories import HOUR, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    TERMS,
    RemoteClockStore,
    ScriptedTarget,
    add_task,
    list_runs,
    make_engine,
    wait_until,
)

AFTER = timedelta(milliseconds=20)
HALF_A_MINUTE = timedelta(seconds=30)


@pytest.mark.parametrize(
    ("store", "offset"),
    [
        (NOON, timedelta(0)),
        (NOON + AFTER, timedelta(0)),
        (NOON - SECOND, -SECOND),
        (NOON + AFTER + HOUR, HOUR),
    ],
    ids=["as early as can be", "as late as can be", "before it was asked", "after it answered"],
)
async def test_offset_is_measured_outside_of_the_round_trip_only(
    clock: VirtualClock, store: datetime, offset: timedelta
) -> None:
    corrected = CorrectedClock(clock)
    corrected.correct(NOON, store, NOON + AFTER)
    assert corrected.offset == offset
    assert corrected.now() == clock.now() + offset
    assert corrected.steady() == clock.steady()


async def test_offset_is_logged_once_and_again_when_it_changes(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Round trips vary a little, and move the offset by as much."""

    with caplog.at_level(logging.WARNING, logger="horae"):
        corrected = CorrectedClock(clock)
        for ahead in (HALF_A_MINUTE, HALF_A_MINUTE + AFTER, HALF_A_MINUTE, 2 * HALF_A_MINUTE, timedelta(0)):
            now = corrected.now()
            corrected.correct(now, clock.now() + ahead, now)
            assert corrected.offset == ahead
    assert [record.args for record in caplog.records] == [(30.0,), (60.0,)]


@pytest.mark.parametrize("ahead", [HALF_A_MINUTE, -HALF_A_MINUTE])
async def test_node_uses_the_clock_of_the_store(
    clock: VirtualClock, ahead: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        store, target = RemoteClockStore(clock), ScriptedTarget()
        store.ahead = ahead
        task = await add_task(store, store.now + 10 * SECOND, store.now)
        engine = make_engine(store, target, clock)
        await engine.start()
        assert engine.clock_offset == ahead
        begun = clock.now()
        await wait_until(clock, lambda: bool(target.invocations), within=60)
        await clock.pause(1)
        (run,) = await list_runs(store, task)
        assert run.started == run.due == begun + ahead + 10 * SECOND
        assert [node.offset for node in await store.nodes()] == [ahead], "and it is stored"
        store.ahead = timedelta(0)
        await clock.pause(TERMS.solo_renewal.total_seconds())
        assert engine.clock_offset == timedelta(0), "what was corrected is corrected again"
        await engine.stop()
    assert "clock differs from the store's" in caplog.text


async def test_local_store_corrects_nothing(clock: VirtualClock) -> None:
    engine = make_engine(MemoryStore(), ScriptedTarget(), clock)
    await engine.start()
    await clock.pause(30)
    assert engine.clock_offset == timedelta(0)
    await engine.stop()
