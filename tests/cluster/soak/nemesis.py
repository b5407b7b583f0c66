"""Nemesis: injects random faults by a seed; several may run at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from horae.clock import SystemClock
from tests.cluster.injected_faults import InjectedFault
from tests.cluster.soak.faults import ANYWHERE, BEHIND_A_PROXY, ON_THE_FILE, ON_THE_SERVER, Undo
from tests.cluster.soak.fleet import Fleet, NodeSlot

_T = TypeVar("_T")

AT_ONCE: Final = 2
"""Largest number of concurrent faults."""
SHARE_OF_ALL: Final = 0.15
"""Share of faults that hit the database, and so every node."""


@dataclass(frozen=True, slots=True)
class OngoingFault:
    fault: str
    slot: NodeSlot | None
    pid: int | None
    since: datetime
    ends: float
    undo: Undo


class Nemesis:
    """`step` starts and ends faults when their time comes; `stop` undoes all of them."""

    def __init__(self, fleet: Fleet, seed: int, lease: float) -> None:
        self._fleet = fleet
        self._chance = random.Random(seed)
        self._lease = lease
        self._clock = SystemClock()
        self._next = self._clock.steady() + self._pause()
        self.ongoing: list[OngoingFault] = []
        self.hits: list[InjectedFault] = []

    @property
    def counts(self) -> Counter[str]:
        return Counter([hit.fault for hit in self.hits] + [ongoing.fault for ongoing in self.ongoing])

    def step(self) -> None:
        for ongoing in tuple(self.ongoing):
            if self._clock.steady() >= ongoing.ends:
                self._undo(ongoing)
        if self._clock.steady() >= self._next:
            self._next = self._clock.steady() + self._pause()
            self._inject()

    def stop(self) -> None:
        for ongoing in tuple(self.ongoing):
            self._undo(ongoing)

    def _pause(self) -> float:
        return self._chance.uniform(0.1, 1.0) * self._lease

    def _inject(self) -> None:
        """Draw all random numbers first: a seed gives the same faults in the same order."""
        for_all, which, whom, amount, how_long = (self._chance.random() for _ in range(5))
        if len(self.ongoing) >= AT_ONCE:
            return
        if for_all < SHARE_OF_ALL:
            self._inject_into_database(which, how_long)
        else:
            self._inject_into_node(which, whom, amount, how_long)

    def _inject_into_database(self, which: float, how_long: float) -> None:
        if self._fleet.is_database_down:
            return
        faults = ON_THE_FILE if self._fleet.server is None else ON_THE_SERVER
        fault, since = _chosen([*faults], which), self._clock.now()
        self._fleet.is_database_down = True
        undo, leases = faults[fault](self._fleet)
        self.ongoing.append(OngoingFault(fault, None, None, since, self._ends(how_long * leases), undo))

    def _inject_into_node(self, which: float, whom: float, amount: float, how_long: float) -> None:
        """Inject a fault into one node; at least one healthy node remains."""
        faults = ANYWHERE if self._fleet.server is None else {**ANYWHERE, **BEHIND_A_PROXY}
        healthy = [
            slot for slot in self._fleet.slots if not slot.is_faulted and slot.worker.alive and slot.worker.is_ready
        ]
        if len(healthy) < 2:
            return
        fault, slot, since = _chosen([*faults], which), _chosen(healthy, whom), self._clock.now()
        slot.is_faulted, pid = True, slot.worker.pid
        undo, leases = faults[fault](amount, self._fleet, slot, self._lease)
        self.ongoing.append(OngoingFault(fault, slot, pid, since, self._ends(how_long * leases), undo))

    def _ends(self, leases: float) -> float:
        return self._clock.steady() + leases * self._lease

    def _undo(self, ongoing: OngoingFault) -> None:
        self.ongoing.remove(ongoing)
        ongoing.undo()
        self.hits.append(InjectedFault(ongoing.fault, ongoing.pid, ongoing.since, self._clock.now()))
        if ongoing.slot is None:
            self._fleet.is_database_down = False
        else:
            ongoing.slot.is_faulted = False


def _chosen(choices: Sequence[_T], share: float) -> _T:
    return choices[int(share * len(choices))]
