"""Lease of a duty: one process has it at a time, and another one takes it over."""

from __future__ import annotations

import asyncio

from horae.agents.host.lease import LEASE, Lease
from horae.engine.process_identity import own_home
from horae.errors import StoreUnavailable
from horae.stores.memory import MemoryStore
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import open_harness


class Duty:
    """Records who works, and when."""

    def __init__(self) -> None:
        self.workers: list[str] = []
        self.most = 0

    async def work(self, name: str) -> None:
        self.workers.append(name)
        self.most = max(self.most, len(self.workers))
        try:
            await asyncio.Event().wait()
        finally:
            self.workers.remove(name)


def lease(store: MemoryStore, clock: VirtualClock, name: str, **fields: object) -> Lease:
    return Lease(store, clock, "channel:test", name, home=f"home/{name}", **fields)  # type: ignore[arg-type]


async def test_one_process_has_the_duty_and_another_takes_it_over_when_it_ends(clock: VirtualClock) -> None:
    store, duty = MemoryStore(), Duty()
    first, second = lease(store, clock, "a"), lease(store, clock, "b")
    jobs = [
        asyncio.ensure_future(first.hold(lambda: duty.work("a"))),
        asyncio.ensure_future(second.hold(lambda: duty.work("b"))),
    ]
    await clock.pause(100)
    assert duty.workers == ["a"]
    assert (first.is_held, second.is_held) == (True, False)
    jobs[0].cancel()
    await asyncio.gather(jobs[0], return_exceptions=True)
    await clock.pause(5)

    assert duty.workers == ["b"]
    assert duty.most == 1
    jobs[1].cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def test_a_process_that_cannot_renew_stops_before_another_one_begins(clock: VirtualClock) -> None:
    store, duty = MemoryStore(), Duty()

    class BrokenRecords(MemoryStore):
        is_broken = False

        async def get_record(self, *arguments: object, **named: object) -> object:  # type: ignore[override]
            if BrokenRecords.is_broken:
                raise StoreUnavailable("no connection")
            return await store.get_record(*arguments, **named)  # type: ignore[arg-type]

        async def put_record(self, *arguments: object, **named: object) -> bool:
            return await store.put_record(*arguments, **named)  # type: ignore[arg-type]

    first = asyncio.ensure_future(lease(BrokenRecords(), clock, "a").hold(lambda: duty.work("a")))
    second = asyncio.ensure_future(lease(store, clock, "b").hold(lambda: duty.work("b")))
    await clock.pause(20)
    BrokenRecords.is_broken = True
    await clock.pause(LEASE.total_seconds() + 5)

    assert duty.workers == ["b"]
    assert duty.most == 1
    for job in (first, second):
        job.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_a_holder_that_has_died_on_this_machine_is_replaced_at_once(clock: VirtualClock) -> None:
    store, duty = MemoryStore(), Duty()
    dead = lease(store, clock, "a")
    job = asyncio.ensure_future(dead.hold(lambda: duty.work("a")))
    await clock.pause(1)
    # Killed: it releases nothing.
    dead._version = None
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)
    began = clock.now()
    successor = lease(store, clock, "b", is_gone=lambda home: home == "home/a")
    job = asyncio.ensure_future(successor.hold(lambda: duty.work("b")))
    await clock.pause(0.001)

    assert duty.workers == ["b"]
    assert (clock.now() - began).total_seconds() < 1
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


async def test_a_holder_on_another_machine_is_replaced_after_its_lease(clock: VirtualClock) -> None:
    store, duty = MemoryStore(), Duty()
    dead = lease(store, clock, "a")
    job = asyncio.ensure_future(dead.hold(lambda: duty.work("a")))
    await clock.pause(0.5)
    dead._version = None
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)
    job = asyncio.ensure_future(lease(store, clock, "b").hold(lambda: duty.work("b")))
    await clock.pause(LEASE.total_seconds() - 2)
    assert duty.workers == []
    await clock.pause(6)
    assert duty.workers == ["b"]
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


async def test_one_of_many_processes_has_the_lease_on_any_store(store_url: str) -> None:
    """Without time that passes by itself: each process tries to take the lease, at once and one after another."""
    async with open_harness(store_url) as harness:
        processes = [
            Lease(harness.store, harness.clock, "router", name, home=f"home/{name}", is_gone=lambda _home: False)
            for name in "abcdef"
        ]
        taken = await asyncio.gather(*(each._take() for each in processes))
        assert taken.count(True) == 1
        holder = processes[taken.index(True)]
        assert await holder._take(), "it is renewed"
        others = [each for each in processes if each is not holder]
        assert [await each._take() for each in others] == [False] * 5
        harness.advance(LEASE)
        again = await asyncio.gather(*(each._take() for each in others))
        assert again.count(True) == 1
        assert not await holder._take(), "it was taken over"
        assert not holder.is_held
        successor = others[again.index(True)]
        await holder._release()
        assert await successor._take(), "the release of an earlier holder leaves the lease alone"
        await successor._release()
        assert await holder._take()


async def test_the_lease_ends_with_its_duty(clock: VirtualClock) -> None:
    store = MemoryStore()

    async def end() -> None:
        return

    one = Lease(store, clock, "router", "a")
    await one.hold(end)

    assert await store.get_record("agents.lease", "router") is None
    assert own_home()
