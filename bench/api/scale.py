"""Sizes of one run of the API benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int  # how often each kind of request has a turn
    seconds: int  # how long one turn goes on
    connections: tuple[int, ...]  # the steps of the curve
    ticking: int  # tasks that fire every second meanwhile
    known: int  # tasks that are there to be asked for
    readers: int  # of events, each on a connection of its own
    listening: float  # seconds for which they listen
    crowd: int  # due tasks that one owner makes
    at_once: int  # tasks that are due at one instant
    lead: float  # seconds until that instant, in which they are made
    probes: int  # requests a second that look how the API is meanwhile


FULL: Final = Sizes(3, 5, (1, 8, 32), 200, 1_000, 1_000, 20, 100_000, 50_000, 30, 20)
QUICK: Final = Sizes(1, 2, (1, 32), 200, 500, 200, 5, 5_000, 5_000, 5, 20)
TINY: Final = Sizes(1, 1, (2,), 5, 60, 5, 2, 50, 50, 1, 20)
