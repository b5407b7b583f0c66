"""The faulty link: calls that pass, calls lost before the commit, answers lost after it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

import pytest

from horae.errors import StoreUnavailable
from horae.stores.memory import MemoryStore
from horae.virtual_time import VirtualClock
from tests.simulation.faults import FaultRates, Link
from tests.simulation.faulty_store import behind
from tests.simulation.history import History


class LinkSetup:
    def __init__(self, clock: VirtualClock, *, failures: float = 0, slowness: float = 0, deaths: float = 0) -> None:
        self.clock = clock
        self.history = History(self.clock)
        self.fault_rates = FixedFaultRates(failures, slowness, deaths)
        self.link = Link("n1", self.fault_rates, self.clock, self.history)
        self.inner = MemoryStore()
        self.store = behind(self.inner, self.link, self.history)


class FixedFaultRates(FaultRates):
    def __init__(self, failures: float, slowness: float, deaths: float) -> None:
        super().__init__(Random(7))
        self._chances = failures, slowness, deaths

    @property
    def failures(self) -> float:
        return self._chances[0]

    @property
    def slowness(self) -> float:
        return self._chances[1]

    @property
    def deaths(self) -> float:
        return self._chances[2]


async def test_without_faults_every_call_succeeds(clock: VirtualClock) -> None:
    scene = LinkSetup(clock)
    for number in range(50):
        await scene.store.write_metadata("number", str(number))
        assert await scene.store.read_metadata("number") == str(number)
    assert not scene.history.faults


async def test_failed_call_may_or_may_not_be_committed(clock: VirtualClock) -> None:
    scene = LinkSetup(clock, failures=0.3)
    kept: set[bool] = set()
    for number in range(50):
        name = f"fact {number}"
        try:
            await scene.store.write_metadata(name, "known")
        except StoreUnavailable:
            kept.add(await scene.inner.read_metadata(name) == "known")
        else:
            assert await scene.inner.read_metadata(name) == "known"
    assert kept == {True, False}
    assert scene.history.faults["a call failed"] > 5


async def test_a_slow_call_takes_virtual_seconds_and_arrives(clock: VirtualClock) -> None:
    scene = LinkSetup(clock, slowness=1)
    await scene.store.write_metadata("fact", "known")
    assert await scene.inner.read_metadata("fact") == "known"
    assert scene.clock.steady() >= 2


async def test_partition_blocks_all_calls_until_its_end(clock: VirtualClock) -> None:
    scene = LinkSetup(clock)
    scene.link.cut(1_000)
    with pytest.raises(StoreUnavailable):
        await scene.store.write_metadata("fact", "known")
    assert await scene.inner.read_metadata("fact") is None
    await scene.clock.pause(1_000)
    await scene.store.write_metadata("fact", "known")


async def test_dead_node_makes_no_calls_and_gets_no_answers(clock: VirtualClock) -> None:
    scene = LinkSetup(clock, slowness=1)
    call = asyncio.ensure_future(scene.store.write_metadata("fact", "known"))
    await scene.clock.pause(0)
    scene.link.dead = True
    with pytest.raises(StoreUnavailable):
        await call
    assert await scene.inner.read_metadata("fact") is None


async def test_a_node_may_die_on_either_side_of_the_commit(clock: VirtualClock) -> None:
    died: list[str] = []
    kept: set[bool] = set()

    def die(why: str) -> None:
        died.append(why)
        scene.link.dead = True

    scene = LinkSetup(clock, deaths=0.3)
    scene.link.die = die
    for number in range(50):
        scene.link.dead = False
        name = f"fact {number}"
        with suppress(StoreUnavailable):
            await scene.store.write_metadata(name, "known")
        if scene.link.dead:
            kept.add(await scene.inner.read_metadata(name) == "known")
    assert set(died) == {"in a call, before the commit", "in a call, after the commit"}
    assert kept == {True, False}
