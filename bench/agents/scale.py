"""Sizes of the benchmark of agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    idle_groups: int
    idle_seconds: float
    settle_seconds: float  # before the idle host is measured
    tries: int  # groups whose first message is timed
    stored: int  # messages that a group has before
    busy_groups: int
    messages: int  # to each busy group


FULL: Final = Sizes(100, 30.0, 5.0, 10, 10_000, 50, 20)
QUICK: Final = Sizes(100, 5.0, 2.0, 3, 1_000, 10, 5)
TINY: Final = Sizes(2, 0.3, 0.0, 1, 100, 6, 2)
