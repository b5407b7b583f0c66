"""Sizes of one run of the engine benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scale:
    rounds: int  # rounds per contender
    due: int  # tasks that are due when Horae starts
    peers_due: int  # the same for each peer: less suffices, and takes as long
    blocks: int  # how often bare commits and timed tasks take turns
    block_seconds: float  # how long one block of timed tasks goes on
    peer_seconds: float  # how long the peers are watched for their lateness
    crowd: int  # future tasks in the big file
    handful: int  # future tasks in the small one
    slices: int  # claims on each of the two
    idle_seconds: float  # how long nothing happens
    many: int  # tasks that are added at once
    backlog: int  # due tasks of one owner, in front of another's
    neighbours: int  # tasks that another process adds


FULL: Final = Scale(
    rounds=3,
    due=40_000,
    peers_due=2_000,
    blocks=10,
    block_seconds=6,
    peer_seconds=8,
    crowd=1_000_000,
    handful=10_000,
    slices=40,
    idle_seconds=60,
    many=100_000,
    backlog=100_000,
    neighbours=10,
)
QUICK: Final = Scale(
    rounds=2,
    due=10_000,
    peers_due=1_000,
    blocks=3,
    block_seconds=2,
    peer_seconds=2,
    crowd=50_000,
    handful=5_000,
    slices=10,
    idle_seconds=8,
    many=20_000,
    backlog=20_000,
    neighbours=3,
)
TINY: Final = Scale(
    rounds=1,
    due=20,
    peers_due=5,
    blocks=1,
    block_seconds=0.1,
    peer_seconds=0.1,
    crowd=50,
    handful=10,
    slices=2,
    idle_seconds=0.1,
    many=50,
    backlog=50,
    neighbours=1,
)
