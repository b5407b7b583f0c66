"""The faulty link: what it lets through, what it loses on the way there, and what only on the way back."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

import pytest

from horae.errors import StoreUnavailable
from horae.stores.memory import MemoryStore
from horae.virtual_time import VirtualClock
from tests.simulation.faults import Link, Weather
from tests.simulation.faulty_store import behind
from tests.simulation.history import History


class Scene:
    def __init__(self, clock: VirtualClock, *, failures: float = 0, slowness: float = 0, deaths: float = 0) -> None:
        self.clock = clock
        self.history = History(self.clock)
        self.weather = Rough(failures, slowness, deaths)
        self.link = Link("n1", self.weather, self.clock, self.history)
        self.inner = MemoryStore()
        self.store = behind(self.inner, self.link, self.history)


class Rough(Weather):
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


async def test_in_fair_weather_everything_arrives(clock: VirtualClock) -> None:
    scene = Scene(clock)
    for number in range(50):
        await scene.store.write_metadata("number", str(number))
        assert await scene.store.read_metadata("number") == str(number)
    assert not scene.history.faults


async def test_a_failed_call_was_committed_or_was_not_and_nobody_is_told_which(clock: VirtualClock) -> None:
    scene = Scene(clock, failures=0.3)
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
    scene = Scene(clock, slowness=1)
    await scene.store.write_metadata("fact", "known")
    assert await scene.inner.read_metadata("fact") == "known"
    assert scene.clock.steady() >= 2


async def test_nothing_goes_through_a_partition_until_it_is_over(clock: VirtualClock) -> None:
    scene = Scene(clock)
    scene.link.cut(1_000)
    with pytest.raises(StoreUnavailable):
        await scene.store.write_metadata("fact", "known")
    assert await scene.inner.read_metadata("fact") is None
    await scene.clock.pause(1_000)
    await scene.store.write_metadata("fact", "known")


async def test_a_dead_node_reaches_nothing_and_hears_nothing(clock: VirtualClock) -> None:
    scene = Scene(clock, slowness=1)
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

    scene = Scene(clock, deaths=0.3)
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
