"""Sizes of one run of the lists benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    tasks: tuple[int, ...]  # of each file, smallest first
    runs_each: int  # in the ledger, for each task
    repetitions: int  # how often each question is asked of a file that is warm
    cold: int  # how often it is the first question of a store that was just opened, with nothing in memory
    processes: int  # how often each command is started


FULL: Final = Sizes(tasks=(1_000, 10_000, 100_000), runs_each=50, repetitions=50, cold=5, processes=30)
QUICK: Final = Sizes(tasks=(300, 3_000), runs_each=20, repetitions=10, cold=2, processes=5)
TINY: Final = Sizes(tasks=(30, 60), runs_each=3, repetitions=2, cold=1, processes=1)
