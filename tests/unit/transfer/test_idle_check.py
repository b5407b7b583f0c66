"""The idle check before a move: live nodes are refused, dead ones are not waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime

import pytest

from horae.clock import SystemClock
from horae.engine.process_identity import own_home
from horae.errors import Conflict
from horae.ports.store import DEFAULT_TERMS
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, a_node
from horae.transfer import NamedStore
from horae.transfer.idle_check import LivenessCheck, is_running_here, wait_until_idle

LEASE = DEFAULT_TERMS.lease.total_seconds()
RENEWAL = DEFAULT_TERMS.renewal.total_seconds()


class SteppedClock(SystemClock):
    """A clock that a pause moves on, with whatever happens at its instants."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.seconds = 0.0
        self.renewing: str | None = None
        self.leaving: str | None = None
        self.joining: str | None = None

    def now(self) -> datetime:
        return NOON

    def steady(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        before, self.seconds = self.seconds, self.seconds + seconds
        if before < RENEWAL <= self.seconds:
            if self.renewing is not None:
                await self.store.renew_lease(self.renewing, NOON)
            if self.leaving is not None:
                await self.store.leave(self.leaving)
            if self.joining is not None:
                await self.store.join(a_node(self.joining))


async def wait_seconds(clock: SteppedClock, *, gone: bool = False, here: bool = False) -> float:
    """How long it took until the store was seen to be still."""
    watching = LivenessCheck(clock, is_gone=lambda _: gone, is_running_here=lambda _: here)
    await wait_until_idle(NamedStore("store", clock.store), watching, lambda _: None)
    return clock.seconds


async def with_a_node() -> SteppedClock:
    store = MemoryStore()
    await store.join(a_node("a"))
    return SteppedClock(store)


async def test_no_wait_without_nodes() -> None:
    assert await wait_seconds(SteppedClock(MemoryStore())) == 0


async def test_dead_process_is_not_waited_for() -> None:
    assert await wait_seconds(await with_a_node(), gone=True) == 0


async def test_live_local_process_is_refused_at_once() -> None:
    clock = await with_a_node()
    with pytest.raises(Conflict, match="A node is at work on store: a"):
        await wait_seconds(clock, here=True)
    assert clock.seconds == 0


async def test_renewing_node_is_refused_when_noticed() -> None:
    clock = await with_a_node()
    clock.renewing = "a"
    with pytest.raises(Conflict):
        await wait_seconds(clock)
    assert RENEWAL <= clock.seconds < RENEWAL + 1


async def test_node_silent_for_a_whole_lease_is_dead() -> None:
    assert LEASE <= await wait_seconds(await with_a_node()) < LEASE + 1


async def test_node_that_leaves_ends_the_wait() -> None:
    clock = await with_a_node()
    clock.leaving = "a"
    assert RENEWAL <= await wait_seconds(clock) < RENEWAL + 1


async def test_node_that_joins_meanwhile_is_refused() -> None:
    clock = await with_a_node()
    clock.joining = "b"
    with pytest.raises(Conflict, match=r": b\."):
        await wait_seconds(clock)


async def test_imported_dead_nodes_are_not_waited_for_again() -> None:
    clock = await with_a_node()
    watching = LivenessCheck(clock, is_gone=lambda _: False, is_running_here=lambda _: False)
    side = NamedStore("store", clock.store)
    still = await wait_until_idle(side, watching, lambda _: None, frozenset({("a", 0)}))
    assert (clock.seconds, set(still.dead_nodes)) == (0.0, {("a", 0)})


def test_own_process_is_live_and_ended_one_is_not() -> None:
    assert is_running_here(own_home())
    assert not is_running_here("another-machine/4026531836/1/1")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    home = own_home().rsplit("/", 2)[0]
    ticks = _started(child.pid)
    assert is_running_here(f"{home}/{child.pid}/{ticks}")
    child.communicate(b"\n")
    assert not is_running_here(f"{home}/{child.pid}/{ticks}")
    assert not is_running_here(f"{home}/{os.getpid()}/1")


def _started(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - one line
        return stat.read().rpartition(")")[2].split()[19]
