"""Sizes of one run of the PostgreSQL benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    peers: bool  # whether the peers are installed and measured too
    rounds: int  # rounds per contender
    due: int  # tasks that are due when a worker starts
    slow_due: int  # the same for the peers that take long
    blocks: int  # how often bare commits and timed tasks take turns
    block_seconds: float  # how long one block of timed tasks goes on
    commits: int  # bare commits in a block
    peer_seconds: float  # how long a peer is watched for its lateness
    busy_peer_seconds: float  # the same at the high rate, which not all of them can keep up with
    lead: float  # seconds from adding timed tasks until the first is due
    crowd: int  # future tasks
    claims: int  # claims among them
    fetches: int  # the same by each peer
    handful: int  # future tasks while nothing happens
    idle_seconds: float  # how long nothing happens


FULL: Final = Sizes(
    peers=True,
    rounds=3,
    due=60_000,
    slow_due=2_000,
    blocks=4,
    block_seconds=5,
    commits=500,
    peer_seconds=10,
    busy_peer_seconds=3,
    lead=2,
    crowd=1_000_000,
    claims=200,
    fetches=10,
    handful=1_000,
    idle_seconds=60,
)
QUICK: Final = Sizes(
    peers=True,
    rounds=1,
    due=5_000,
    slow_due=500,
    blocks=2,
    block_seconds=2,
    commits=100,
    peer_seconds=2,
    busy_peer_seconds=1,
    lead=2,
    crowd=50_000,
    claims=50,
    fetches=5,
    handful=200,
    idle_seconds=12,
)
TINY: Final = Sizes(
    peers=False,
    rounds=1,
    due=20,
    slow_due=5,
    blocks=1,
    block_seconds=0.1,
    commits=5,
    peer_seconds=0.1,
    busy_peer_seconds=0.1,
    lead=0.5,
    crowd=50,
    claims=2,
    fetches=1,
    handful=5,
    idle_seconds=0.5,
)
