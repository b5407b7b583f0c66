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
    """How rough it is out there, for everybody. All chances are between 0 and 1."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.calm = False
        self.storms = 0

    @property
    def failures(self) -> float:
        return 0.2 if self.storms else 0.003

    @property
    def deaths(self) -> float:
        """How often a node dies at the very point of a call: on the way there, or after the commit and before the answer."""
        return 0.0006

    @property
    def slowness(self) -> float:
        return 0.05 if self.storms else 0.002

    def end_faults(self) -> None:
        """What is left when faults end: a little delay now and then."""
        self.calm = True


class Link:
    """One party's connection to the store. Whatever it says went wrong, the store itself is never half-written."""

    def __init__(self, who: str, fault_rates: FaultRates, clock: VirtualClock, history: History) -> None:
        self.who = who
        self.dead = False
        self.cut_until = 0.0
        self.die: Callable[[str], None] | None = None
        self._fault_rates = fault_rates
        self._clock = clock
        self._history = history

    def cut(self, seconds: float) -> None:
        """A partition: nothing goes through for so long."""
        self.cut_until = self._clock.steady() + seconds

    async def carry(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """There, the commit, and back. An error on the way back leaves whoever asked in doubt."""
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
        """Some packets wait for the end of it, most are given up after a while."""
        left = self.cut_until - self._clock.steady()
        if left <= 0 or self.dead:
            return
        await self._clock.pause(min(left, self._fault_rates.dice.choice((5.0, 40.0, 120.0))))
        if self.cut_until > self._clock.steady():
            raise StoreUnavailable(f"{self.who} is cut off {where}.")

    def _fail(self, kind: str, where: str) -> None:
        self._history.fault(kind, self.who, where)
        raise StoreUnavailable(f"The connection of {self.who} broke {where}; nobody can know more.")
