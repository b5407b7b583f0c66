"""Sizes of one run of the scale benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    tasks: tuple[int, ...]  # in one database, which grows from each number to the next
    singles: int  # additions, claims and settlements at each size, one by one
    repetitions: int  # how often each question is asked at each size
    watched_seconds: float  # how long timed tasks come due at each size
    written: int  # tasks that the library adds and runs, to see what they take on the disk
    rates: tuple[int, ...]  # fires a second on one node, until it cannot keep up
    step_seconds: float  # how long each rate goes on
    lead: float  # seconds from the first look at a step until something is due, beside what adding takes
    owners: tuple[int, ...]  # who share a backlog
    backlog: int  # due tasks in front of owners, and of nodes
    nodes: tuple[int, ...]  # processes on one database
    shared_rate: int  # fires a second that the nodes share


FULL: Final = Sizes(
    tasks=(10_000, 100_000, 1_000_000, 10_000_000),
    singles=300,
    repetitions=50,
    watched_seconds=10,
    written=100_000,
    rates=(100, 250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 16_000),
    step_seconds=10,
    lead=6,
    owners=(1, 100, 10_000),
    backlog=40_000,
    nodes=(1, 2, 4),
    shared_rate=1_000,
)
QUICK: Final = Sizes(
    tasks=(10_000, 100_000),
    singles=50,
    repetitions=10,
    watched_seconds=2,
    written=10_000,
    rates=(100, 1_000, 2_000, 4_000, 8_000),
    step_seconds=2,
    lead=6,
    owners=(1, 100, 2_000),
    backlog=5_000,
    nodes=(1, 2, 4),
    shared_rate=500,
)
TINY: Final = Sizes(
    tasks=(60,),
    singles=2,
    repetitions=1,
    watched_seconds=0.1,
    written=20,
    rates=(50,),
    step_seconds=0.2,
    lead=1.5,
    owners=(3,),
    backlog=20,
    nodes=(2,),
    shared_rate=50,
)
