"""Does harm by chance, but by a seed: which fault, to whom, when, and for how long; several may go on at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from horae.clock import SystemClock
from tests.cluster.soak.faults import ANYWHERE, BEHIND_A_PROXY, ON_THE_FILE, ON_THE_SERVER, Undo
from tests.cluster.soak.fleet import Fleet, Seat
from tests.cluster.verdict import Hit

_T = TypeVar("_T")

AT_ONCE: Final = 2
"""So many faults may go on at the same time."""
SHARE_OF_ALL: Final = 0.15
"""So many of the faults are done to the database, and all nodes feel them."""


@dataclass(frozen=True, slots=True)
class Going:
    fault: str
    seat: Seat | None
    pid: int | None
    since: datetime
    ends: float
    undo: Undo


class Nemesis:
    """`step` is called again and again; `end` undoes everything."""

    def __init__(self, fleet: Fleet, seed: int, lease: float) -> None:
        self._fleet = fleet
        self._chance = random.Random(seed)
        self._lease = lease
        self._clock = SystemClock()
        self._next = self._clock.steady() + self._pause()
        self.going: list[Going] = []
        self.hits: list[Hit] = []

    @property
    def counts(self) -> Counter[str]:
        return Counter([hit.fault for hit in self.hits] + [going.fault for going in self.going])

    def step(self) -> None:
        for going in tuple(self.going):
            if self._clock.steady() >= going.ends:
                self._undo(going)
        if self._clock.steady() >= self._next:
            self._next = self._clock.steady() + self._pause()
            self._strike()

    def end(self) -> None:
        for going in tuple(self.going):
            self._undo(going)

    def _pause(self) -> float:
        return self._chance.uniform(0.1, 1.0) * self._lease

    def _strike(self) -> None:
        """Chance is asked the same questions whatever the moment is: so a seed means the same faults in the same order."""
        for_all, which, whom, amount, how_long = (self._chance.random() for _ in range(5))
        if len(self.going) >= AT_ONCE:
            return
        if for_all < SHARE_OF_ALL:
            self._strike_all(which, how_long)
        else:
            self._strike_one(which, whom, amount, how_long)

    def _strike_all(self, which: float, how_long: float) -> None:
        if self._fleet.down:
            return
        faults = ON_THE_FILE if self._fleet.server is None else ON_THE_SERVER
        fault, since = _chosen([*faults], which), self._clock.now()
        self._fleet.down = True
        undo, leases = faults[fault](self._fleet)
        self.going.append(Going(fault, None, None, since, self._ends(how_long * leases), undo))

    def _strike_one(self, which: float, whom: float, amount: float, how_long: float) -> None:
        """Somebody has to be left to go on."""
        faults = ANYWHERE if self._fleet.server is None else {**ANYWHERE, **BEHIND_A_PROXY}
        healthy = [seat for seat in self._fleet.seats if not seat.hurt and seat.worker.alive and seat.worker.is_ready]
        if len(healthy) < 2:
            return
        fault, seat, since = _chosen([*faults], which), _chosen(healthy, whom), self._clock.now()
        seat.hurt, pid = True, seat.worker.pid
        undo, leases = faults[fault](amount, self._fleet, seat, self._lease)
        self.going.append(Going(fault, seat, pid, since, self._ends(how_long * leases), undo))

    def _ends(self, leases: float) -> float:
        return self._clock.steady() + leases * self._lease

    def _undo(self, going: Going) -> None:
        self.going.remove(going)
        going.undo()
        self.hits.append(Hit(going.fault, going.pid, going.since, self._clock.now()))
        if going.seat is None:
            self._fleet.down = False
        else:
            going.seat.hurt = False


def _chosen(choices: Sequence[_T], share: float) -> _T:
    return choices[int(share * len(choices))]
