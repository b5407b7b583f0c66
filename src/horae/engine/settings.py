"""The numbers of one engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ..ports.store import STANDARD_TERMS, Terms


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """`capacity` is how many runs one node carries at once, `grace` how long they may go on when it stops."""

    terms: Terms = STANDARD_TERMS
    capacity: int = 1_024
    claim_limit: int | None = None
    """The most entries that one claim takes; by default as many as there is room for. Concurrency is `capacity` alone."""
    grace: timedelta = timedelta(seconds=10)
    precise: bool = True
    keep_for: timedelta = timedelta(days=30)
    keep_runs: int = 1_000
    upkeep_every: timedelta = timedelta(minutes=1)
    look_every: timedelta | None = None
    """How often the agenda is looked at without any other reason; by default the poll ceiling that nodes share."""
    clock_tolerance: timedelta = timedelta(seconds=60)
    """A machine whose clock is further than this from the store's starts no node; below, and later on, it is corrected."""
    follow_clock: bool = True
    """Plan interval tasks again after the wall clock was set back. The simulation, whose oracle derives all instants from the
    schedules that were written down, does without."""
    report_delays: bool = True
    """Write the settlement delays of the last minutes to the store, for the overview."""
    fine_timer: bool = True
    """Wake by a timer of the system where that is finer than the event loop's own; virtual time has only the loop's."""
    own_thread: bool = True
    """Renew the lease from a thread of its own, so that a function that blocks the event loop does not lose it."""
