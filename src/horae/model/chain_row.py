"""Chain row: what a task knows of one root occurrence, so that its links fire once for it, and joins wait for all."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .origin import RootOccurrence
from .run import RunState

MAX_DEPTH: Final = 16
"""Links from the first task of a chain to its last one."""
MAX_SUCCESSORS: Final = 64
"""Tasks that may run directly after one task."""


class ChainLimit(NamedTuple):
    """Most links of a chain for an edit. `command` is what an admin types to change it, up to the number; empty: no quota."""

    depth: int = MAX_DEPTH
    command: str = ""


DEFAULT_CHAIN_LIMIT: Final = ChainLimit()


class ChainState(StrEnum):
    OPEN = "open"
    """Not all awaited predecessors have ended."""
    FIRED = "fired"
    """It has an occurrence for this root; nothing fires it again."""
    SKIPPED = "skipped"
    """It has no run for this root. The retry of a predecessor may still fire it."""


class Arrival(NamedTuple):
    """End of a predecessor's occurrence. `run_id` is None where the predecessor itself was not started."""

    predecessor: str
    state: RunState
    run_id: str | None = None


class ChainRow(NamedTuple):
    """Unique by task and root. `awaited` are the predecessors that descend from the root task; others never arrive.

    `planned` is the instant of the chained occurrence, unique among those of its task; `attempt` is the highest that was
    decided here. `updated` is the instant of the last arrival, by which retention removes the row.
    """

    task_id: str
    root: RootOccurrence
    updated: datetime
    state: ChainState = ChainState.OPEN
    awaited: tuple[str, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    planned: datetime | None = None
    attempt: int = 0
