"""Fault injector: crashes, stops, partitions, freezes and clock steps at random instants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from random import Random
from typing import Any, Final

from horae.virtual_time import VirtualClock
from tests.simulation.faults import FaultRates
from tests.simulation.history import History
from tests.simulation.node import Node

_STEPS: Final = (
    (timedelta(seconds=1), 3),
    (timedelta(seconds=-1), 3),
    (timedelta(hours=1), 2),
    (timedelta(hours=-1), 2),
    (timedelta(days=1), 0.4),
    (timedelta(days=-1), 0.6),
)


class Nemesis:
    def __init__(
        self,
        nodes: Sequence[Node],
        fault_rates: FaultRates,
        clock: VirtualClock,
        history: History,
        dice: Random,
        *,
        lease: timedelta,
        one_machine: bool,
    ) -> None:
        self._nodes = nodes
        self._fault_rates = fault_rates
        self._clock = clock
        self._history = history
        self._dice = dice
        self._lease = lease
        self._one_machine = one_machine
        self._jobs: set[asyncio.Task[None]] = set()
        self.mean_seconds = 2_400.0

    async def run(self) -> None:
        deeds: tuple[tuple[Callable[[], Coroutine[Any, Any, None]], float], ...] = (
            (self._crash, 5),
            (self._outage, 1),
            (self._stop, 2),
            (self._partition, 4),
            (self._suspension, 4),
            (self._clock_step, 3),
            (self._storm, 3),
        )
        while True:
            await self._clock.pause(self._dice.expovariate(1 / self.mean_seconds))
            deed = self._dice.choices([each for each, _ in deeds], [weight for _, weight in deeds])[0]
            job = asyncio.ensure_future(deed())
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)

    async def heal(self) -> None:
        """End all faults and bring every node up."""
        if self._jobs:
            await asyncio.wait(tuple(self._jobs))
        self._fault_rates.end_faults()
        for node in self._nodes:
            node.heal()

    def _length(self, *minutes: float) -> timedelta:
        return timedelta(minutes=self._dice.choice(minutes))

    def _about_a_lease(self) -> timedelta:
        """Much shorter than a lease, almost a lease, or longer than a lease."""
        return self._lease * self._dice.choice((0.1, 0.5, 0.9, 1.3, 1.7, 2.5))

    def _some_node(self, busiest: float = 0.5) -> Node:
        """Prefer nodes with live runs."""
        if self._dice.random() >= busiest:
            return self._dice.choice(self._nodes)
        return max(self._nodes, key=lambda node: self._history.at_work(node.life))

    async def _crash(self) -> None:
        node = self._some_node()
        node.crash("by chance")
        await self._clock.pause(self._length(0.1, 2, 20).total_seconds())
        node.start()

    async def _outage(self) -> None:
        """Stop all nodes for a while."""
        for node in self._nodes:
            node.crash("in an outage")
        await self._clock.pause(self._length(10, 60, 200).total_seconds())
        for node in self._nodes:
            node.start()

    async def _stop(self) -> None:
        node = self._some_node()
        await node.stop()
        await self._clock.pause(self._length(0.1, 5).total_seconds())
        node.start()

    async def _partition(self) -> None:
        """Cut a node off, preferably one with runs."""
        self._some_node(busiest=0.9).cut(self._about_a_lease())

    async def _suspension(self) -> None:
        await self._some_node().freeze(self._about_a_lease())

    async def _clock_step(self) -> None:
        """On one machine every node sees the step. Machines apart agree within seconds, and only that is disturbed."""
        if not self._one_machine:
            self._some_node().step(timedelta(seconds=self._dice.choice((-20, -1, 1, 20))))
            return
        delta = self._dice.choices([each for each, _ in _STEPS], [weight for _, weight in _STEPS])[0]
        # Real clock steps are not exact to the microsecond; exact ones could make from-end instants repeat.
        delta += timedelta(microseconds=self._dice.randrange(1_000))
        self._step(delta)
        if delta < timedelta(hours=-2):
            # A day backwards is noticed and put right, or nothing would be due for the rest of the day.
            await self._clock.pause(self._length(2, 30).total_seconds())
            self._step(-delta)

    def _step(self, delta: timedelta) -> None:
        self._history.fault("a clock step", "the machine", f"of {delta.total_seconds():g} s")
        self._clock.step(delta)

    async def _storm(self) -> None:
        """Raise the fault rates for a while."""
        self._history.fault("a storm", "the store")
        self._fault_rates.storms += 1
        await self._clock.pause(self._length(1, 5).total_seconds())
        self._fault_rates.storms -= 1
