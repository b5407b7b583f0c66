"""The alarm wakes at the next due instant, at a notification, at the poll ceiling, and never loses a notification."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.engine.alarm import WakeTimer
from horae.testing.factories import HOUR, NOON, SECOND
from horae.virtual_time import VirtualClock

CEILING = 10 * SECOND


async def woken_at(alarm: WakeTimer, clock: VirtualClock) -> timedelta:
    await alarm.wait()
    return clock.now() - NOON


async def test_alarm_wakes_at_the_next_due_instant_and_not_before(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + timedelta(seconds=3, microseconds=7))
    assert await woken_at(alarm, clock) == timedelta(seconds=3, microseconds=7)


async def test_alarm_wakes_at_the_poll_ceiling(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(None)
    assert await woken_at(alarm, clock) == CEILING


async def test_due_instant_beyond_the_ceiling_does_not_delay_the_wake_up(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + HOUR)
    assert await woken_at(alarm, clock) == CEILING


async def test_notification_wakes_the_alarm_at_once(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(None)
    asyncio.get_running_loop().call_later(2, alarm.notify)
    assert await woken_at(alarm, clock) == 2 * SECOND


async def test_notification_before_the_wait_is_not_lost_and_counts_once(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.notify()
    alarm.notify()
    alarm.end_poll(None)
    assert await woken_at(alarm, clock) == timedelta(0)
    assert await woken_at(alarm, clock) == CEILING


async def test_earlier_expected_instant_wakes_the_alarm(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + 8 * SECOND)
    loop = asyncio.get_running_loop()
    loop.call_later(1, alarm.expect, NOON + 4 * SECOND)
    loop.call_later(2, alarm.expect, NOON + 6 * SECOND)
    loop.call_later(2, alarm.expect, None)
    assert await woken_at(alarm, clock) == 4 * SECOND


async def test_instant_expected_during_a_claim_is_kept(clock: VirtualClock) -> None:
    """The answer may be older than what was added while it was on its way."""

    alarm = WakeTimer(clock, CEILING)
    alarm.begin_poll()
    alarm.expect(NOON + 2 * SECOND)
    alarm.end_poll(None)
    assert await woken_at(alarm, clock) == 2 * SECOND


async def test_instant_expected_before_a_claim_is_cleared_by_it(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.expect(NOON + 2 * SECOND)
    alarm.begin_poll()
    alarm.end_poll(None)
    assert await woken_at(alarm, clock) == CEILING


async def test_next_due_from_a_renewal_counts_as_a_poll_but_keeps_expected_instants(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + 15 * SECOND)
    asyncio.get_running_loop().call_later(8, alarm.observe_head, None)
    assert await woken_at(alarm, clock) == 15 * SECOND


async def test_next_due_from_a_renewal_moves_the_wake_up_forward(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(None)
    asyncio.get_running_loop().call_later(1, alarm.observe_head, NOON + 3 * SECOND)
    assert await woken_at(alarm, clock) == 3 * SECOND


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(seconds=-2)])
async def test_alarm_sleeps_on_after_the_wall_clock_is_set_back(clock: VirtualClock, step: timedelta) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + 3 * SECOND)
    asyncio.get_running_loop().call_later(1, clock.step, step)
    await alarm.wait()
    assert clock.steady() == min(3 - step.total_seconds(), CEILING.total_seconds())


async def test_forward_clock_step_is_noticed_by_the_poll_ceiling(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + HOUR)
    asyncio.get_running_loop().call_later(1, clock.step, HOUR)
    # The keeper's looks keep the ceiling away; the next wake sees the clock all the same.
    for second in (4, 8):
        asyncio.get_running_loop().call_later(second, alarm.observe_head, NOON + HOUR)
    await alarm.wait()
    assert clock.steady() == CEILING.total_seconds()


async def test_polling_wakes_at_every_ceiling_despite_notifications(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING, precise=False)
    alarm.end_poll(NOON + SECOND)
    loop = asyncio.get_running_loop()
    for second in range(1, 10):
        loop.call_later(second, alarm.notify)
        loop.call_later(second, alarm.expect, NOON + 2 * SECOND)
        loop.call_later(second, alarm.observe_head, NOON + 2 * SECOND)
    assert await woken_at(alarm, clock) == CEILING


async def test_polling_resumes_at_once_when_capacity_is_free(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING, precise=False)
    alarm.end_poll(None)
    asyncio.get_running_loop().call_later(1, alarm.wake)
    assert await woken_at(alarm, clock) == SECOND


async def test_a_cancelled_wait_leaves_an_alarm_that_works(clock: VirtualClock) -> None:
    alarm = WakeTimer(clock, CEILING)
    alarm.end_poll(NOON + 5 * SECOND)
    waiting = asyncio.ensure_future(alarm.wait())
    await clock.pause(1)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    alarm.notify()
    assert await woken_at(alarm, clock) == SECOND
    assert await woken_at(alarm, clock) == 5 * SECOND
