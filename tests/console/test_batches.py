"""Batches of equal calls: shared results, none of them older than the call."""

from __future__ import annotations

import asyncio

import pytest

from horae.console.application import BATCH_SECONDS, Batches
from horae.virtual_time import VirtualClock


class Source:
    """A value that changes, and the number of times that it was read."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0

    async def read(self) -> int:
        self.reads += 1
        return self.value


async def test_one_caller_alone_does_not_wait(clock: VirtualClock) -> None:
    source, batches, began = Source(), Batches(clock), clock.steady()
    for number in range(3):
        source.value = number
        assert await batches.join("now", source.read) == number
    assert clock.steady() == began


async def test_computations_for_one_key_follow_each_other(clock: VirtualClock) -> None:
    batches, running, most = Batches(clock), 0, 0

    async def compute() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.pause(0.04)
        running -= 1

    calls = []
    for _ in range(50):
        calls.append(asyncio.ensure_future(batches.join("now", compute)))
        await clock.pause(0.015)
    await asyncio.gather(*calls)
    assert most == 1


async def test_calls_that_wait_share_one_result_of_after_the_last_of_them(clock: VirtualClock) -> None:
    source, batches, began = Source(), Batches(clock), clock.steady()
    await asyncio.gather(*(batches.join("now", source.read) for _ in range(2)))
    early = asyncio.ensure_future(batches.join("now", source.read))
    await clock.pause(BATCH_SECONDS / 2)
    source.value = 1
    late = [asyncio.ensure_future(batches.join("now", source.read)) for _ in range(100)]
    assert await asyncio.gather(early, *late) == [1] * 101
    assert source.reads == 2
    assert clock.steady() == began + BATCH_SECONDS


async def test_call_during_a_computation_begins_another(clock: VirtualClock) -> None:
    source, batches = Source(), Batches(clock)

    async def read_slowly() -> int:
        value = await source.read()
        await clock.pause(2 * BATCH_SECONDS)
        return value

    first = asyncio.ensure_future(batches.join("now", read_slowly))
    await clock.pause(BATCH_SECONDS)
    source.value = 1
    assert await batches.join("now", read_slowly) == 1
    assert await first == 0


async def test_other_keys_do_not_wait_for_each_other(clock: VirtualClock) -> None:
    source, batches, began = Source(), Batches(clock), clock.steady()
    for key in range(3):
        await batches.join(key, source.read)
    assert (source.reads, clock.steady()) == (3, began)


async def test_cancelled_call_leaves_the_result_to_the_others(clock: VirtualClock) -> None:
    source, batches = Source(), Batches(clock)
    await batches.join("now", source.read)
    first, second = (asyncio.ensure_future(batches.join("now", source.read)) for _ in range(2))
    await clock.pause(0)
    first.cancel()
    assert await second == 0


async def test_error_reaches_every_call(clock: VirtualClock) -> None:
    async def fail() -> int:
        raise ValueError("broken")

    batches = Batches(clock)
    calls = [asyncio.ensure_future(batches.join("now", fail)) for _ in range(2)]
    for call in calls:
        with pytest.raises(ValueError, match="broken"):
            await call
