"""Sizes of one run of the takeover benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tries:
    victims: int  # nodes that something is done to in one round, all of them beside one survivor
    rounds: int  # with each of the faults
    restarts: int  # how often the database is killed and started again
    lease: float  # seconds
    faults: int = 5  # how many of the kinds of faults


FULL: Final = Tries(victims=25, rounds=2, restarts=50, lease=15)
QUICK: Final = Tries(victims=5, rounds=1, restarts=5, lease=15)
TINY: Final = Tries(victims=1, rounds=1, restarts=1, lease=1, faults=1)
