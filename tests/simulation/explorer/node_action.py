"""Next possible action of one node, from the state of the store and its own knowledge."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tests.simulation.explorer.process import Lease, Process
from tests.simulation.explorer.scope import Fault


class Peer(NamedTuple):
    """All that matters of the other node: its name, and whether it may be taken for dead."""

    node: str | None
    lease: Lease


class View(NamedTuple):
    """Where a node stands: the moment of the store, the time, what it knows. `slot` is the letter of its names, `kinds` the
    faults that may still happen."""

    at: int
    now: datetime
    process: Process
    slot: str
    peer: Peer
    kinds: frozenset[Fault]


class NodeAction(NamedTuple):
    """`worked` is the run whose work was really done."""

    told: str
    at: int
    process: Process
    fault: Fault | None = None
    worked: str | None = None
