"""Faulty link between a node and its store: delays, failures before and after the commit, partitions, death."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from horae.errors import StoreUnavailable
from horae.virtual_time import VirtualClock
from tests.simulation.history import History

_T = TypeVar("_T")


DELAYS: Final = 0.15
"""How many of all trips take any time at all: most do not, so that a day stays cheap."""


class FaultRates:
    """Fault probabilities of all links, between 0 and 1."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.calm = False
        self.storms = 0

    @property
    def failures(self) -> float:
        return 0.2 if self.storms else 0.003

    @property
    def deaths(self) -> float:
        """Probability that a node dies during a call: before the commit, or after it and before the answer."""
        return 0.0006

    @property
    def slowness(self) -> float:
        return 0.05 if self.storms else 0.002

    def end_faults(self) -> None:
        """End the faults; small delays remain."""
        self.calm = True


class Link:
    """Connection of one client to the store. Errors never leave a partial write."""

    def __init__(self, who: str, fault_rates: FaultRates, clock: VirtualClock, history: History) -> None:
        self.who = who
        self.dead = False
        self.cut_until = 0.0
        self.die: Callable[[str], None] | None = None
        self._fault_rates = fault_rates
        self._clock = clock
        self._history = history

    def cut(self, seconds: float) -> None:
        """Start a partition of this length."""
        self.cut_until = self._clock.steady() + seconds

    async def carry(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Request, commit, answer. An error after the commit leaves the caller without knowledge of it."""
        await self._way("before the commit")
        answer = await work()
        await self._way("after the commit")
        return answer

    async def _way(self, where: str) -> None:
        fault_rates, dice = self._fault_rates, self._fault_rates.dice
        if dice.random() < DELAYS:
            await self._clock.pause(dice.random() * 0.02)
        if not fault_rates.calm:
            chance = dice.random()
            if self.die is not None and not self.dead and 1 - chance < fault_rates.deaths:
                self.die(f"in a call, {where}")
            if chance < fault_rates.failures:
                self._fail("a call failed", where)
            if chance < fault_rates.failures + fault_rates.slowness:
                self._history.fault("a slow call", self.who, where)
                await self._clock.pause(dice.choice((1.0, 5.0, 20.0, 90.0)))
        await self._over_the_partition(where)
        if self.dead:
            raise StoreUnavailable(f"{self.who} is dead, and {where} nothing of it is heard any more.")

    async def _over_the_partition(self, where: str) -> None:
        """Some calls wait for the end of the partition, most time out."""
        left = self.cut_until - self._clock.steady()
        if left <= 0 or self.dead:
            return
        await self._clock.pause(min(left, self._fault_rates.dice.choice((5.0, 40.0, 120.0))))
        if self.cut_until > self._clock.steady():
            raise StoreUnavailable(f"{self.who} is cut off {where}.")

    def _fail(self, kind: str, where: str) -> None:
        self._history.fault(kind, self.who, where)
        raise StoreUnavailable(f"The connection of {self.who} broke {where}; nobody can know more.")
