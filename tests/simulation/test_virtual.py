"""Virtual time: the clock jumps instead of waiting, and deadlocks and livelocks raise."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest

from horae import virtual_time
from horae.virtual_time import DeadlockError, LivelockError, VirtualClock, VirtualLoop, run_virtual
from tests.simulation.frozen_nodes import FreezingLoop, Gate, NodeClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def test_a_year_takes_no_time_and_not_a_microsecond_is_lost(clock: VirtualClock) -> None:
    await clock.pause(365 * 86_400 + 0.000_001)
    assert clock.now() == NOON + timedelta(days=365, microseconds=1)


async def test_timers_fire_in_order_on_the_microsecond(clock: VirtualClock) -> None:
    seen: list[tuple[str, datetime]] = []

    async def wait(name: str, seconds: float) -> None:
        await clock.pause(seconds)
        seen.append((name, clock.now()))

    await asyncio.gather(wait("late", 3.000_002), wait("early", 3.000_001), wait("at once", 0))
    assert seen == [
        ("at once", NOON),
        ("early", NOON + timedelta(seconds=3, microseconds=1)),
        ("late", NOON + timedelta(seconds=3, microseconds=2)),
    ]


async def test_wall_clock_step_does_not_change_the_steady_clock(clock: VirtualClock) -> None:
    asyncio.get_running_loop().call_later(60, clock.step, -HOUR)
    await clock.pause(90)
    assert clock.steady() == 90
    assert clock.now() == NOON + timedelta(seconds=90) - HOUR


async def test_very_short_timer_lets_time_pass(clock: VirtualClock) -> None:
    await clock.pause(8_217.789_393)
    before = clock.steady()
    await clock.pause(1e-13)
    assert clock.steady() > before


def test_deadlock_raises() -> None:
    clock = VirtualClock(NOON)
    loop = VirtualLoop(clock)
    waiting = loop.create_task(asyncio.Event().wait())
    with pytest.raises(DeadlockError, match="2026-03-01T12:00:00"):
        loop.run_until_complete(waiting)
    waiting.cancel()
    loop.travel(timedelta(0))
    loop.close()


async def spin(clock: VirtualClock) -> None:
    while clock.steady() < 1:
        pass


def test_livelock_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "MOST_READINGS", 1_000)
    clock = VirtualClock(NOON)
    with pytest.raises(LivelockError):
        run_virtual(spin(clock), clock)


async def tick(clock: VirtualClock, every: float, seen: list[float]) -> None:
    while True:
        await clock.pause(every)
        seen.append(clock.steady())


def test_travel_runs_timers_up_to_and_including_the_instant() -> None:
    clock = VirtualClock(NOON)
    loop = VirtualLoop(clock)
    seen: list[float] = []
    ticking = loop.create_task(tick(clock, 60, seen))
    loop.travel(timedelta(minutes=2))
    assert (seen, clock.now()) == ([60, 120], NOON + timedelta(minutes=2))
    loop.travel(timedelta(seconds=59))
    assert (len(seen), clock.now()) == (2, NOON + timedelta(seconds=179))
    ticking.cancel()
    loop.travel(timedelta(0))
    loop.close()


def test_travel_without_timers() -> None:
    clock = VirtualClock(NOON)
    loop = VirtualLoop(clock)
    loop.travel(HOUR)
    loop.close()
    assert clock.now() == NOON + HOUR


async def test_work_in_a_thread_takes_no_virtual_time(clock: VirtualClock) -> None:
    may_end = Event()
    asyncio.get_running_loop().call_later(5, may_end.clear)
    asyncio.get_running_loop().call_soon(may_end.set)
    assert await asyncio.to_thread(may_end.wait)
    assert clock.now() == NOON


async def test_outside_block_stops_virtual_time(clock: VirtualClock) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    answered = loop.create_future()
    loop.call_later(5, lambda: None)
    with loop.outside():
        thread = Thread(target=loop.call_soon_threadsafe, args=(answered.set_result, None))
        thread.start()
        await answered
    thread.join()
    assert clock.now() == NOON


def test_frozen_node_runs_its_callbacks_after_thawing() -> None:
    clock = VirtualClock(NOON)
    loop = FreezingLoop(clock)
    gate = Gate()
    frozen: list[float] = []
    awake: list[float] = []
    jobs = [
        loop.create_task(tick(clock, 10, frozen), context=gate.context()),
        loop.create_task(tick(clock, 10, awake)),
    ]
    loop.travel(timedelta(seconds=15))
    gate.close()
    loop.travel(timedelta(seconds=30))
    assert (frozen, awake) == ([10], [10, 20, 30, 40])
    gate.open(loop)
    loop.travel(timedelta(0))
    assert frozen == [10, 45]
    for job in jobs:
        job.cancel()
    loop.travel(timedelta(0))
    loop.close()


def test_node_clock_can_be_stepped_alone() -> None:
    machine = VirtualClock(NOON)
    clock = NodeClock(machine)
    clock.step(HOUR)
    machine.step(-HOUR)
    machine.sleep(1)
    assert (clock.now(), clock.steady()) == (NOON + timedelta(seconds=1), 1)
