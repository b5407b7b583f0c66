"""Settings of one engine: capacity, grace, retention, polling, clock tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ..model.lanes.node_labels import LabelPairs
from ..model.limits import LOG_BYTES
from ..model.messages import DEFAULT_RULES, KeepRules
from ..ports.store import DEFAULT_TERMS, Terms


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """`capacity` is the number of runs that one node executes at once, `grace` the time they get to end at a stop."""

    terms: Terms = DEFAULT_TERMS
    capacity: int = 1_024
    claim_limit: int | None = None
    """Maximum entries per claim; by default the free capacity. Concurrency is bounded by `capacity` alone."""
    grace: timedelta = timedelta(seconds=10)
    precise: bool = True
    keep_for: timedelta = timedelta(days=30)
    keep_runs: int = 1_000
    keep_messages: KeepRules = DEFAULT_RULES
    """Retention of messages in streams without caps of their own."""
    run_log_bytes: int = LOG_BYTES
    """Bytes that the log lines of one run may have; the rest is dropped, and the last line says so."""
    upkeep_every: timedelta = timedelta(minutes=1)
    poll_interval: timedelta | None = None
    """Interval of polls of the agenda; by default the poll ceiling that all nodes share."""
    clock_tolerance: timedelta = timedelta(seconds=60)
    """A node refuses to start if its clock is further than this from the store's; smaller or later offsets are corrected."""
    follow_clock: bool = True
    """Replan interval tasks after the wall clock was set back. Off in the simulation, whose oracle derives all instants from
    the stored schedules."""
    report_delays: bool = True
    """Write the settlement delays of the last minutes to the store, for the overview."""
    fine_timer: bool = True
    """Wake up by a system timer (timerfd), which is finer than the event loop's; virtual time has only the loop's."""
    labels: LabelPairs = ()
    """Labels of the node, which tasks may require (`where`); `node` is its name."""
    node_name: str | None = None
    """Stable name of the node; by default that of its machine."""
    require_durable: bool = False
    """The node refuses to start on a store that can lose what it has acknowledged."""
    lease_thread: bool = True
    """Renew the lease from a separate thread, so that a function that blocks the event loop does not lose it."""
