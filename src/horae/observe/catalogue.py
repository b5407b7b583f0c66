"""Every metric by its name. No label holds what people make up, so that there are never more series than the code has."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..model.run import Origin

Kind = Literal["counter", "gauge", "histogram"]
Process = Literal["api", "engine", "both"]
Labels = tuple[str, ...]

PROCESS: Final = "process"
"""The label that tells two processes of one machine apart; what concerns all nodes alike has none."""

LATENESS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)
QUICK: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
LENGTHS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Metric(NamedTuple):
    """`begins` are the series that are there from the first moment on, in the process whose business they are: what is not
    there cannot be watched."""

    name: str
    kind: Kind
    labels: Labels
    meaning: str
    edges: tuple[float, ...] = ()
    begins: tuple[Labels, ...] = ()
    of: Process = "engine"
    of_all: bool = False
    """It is about the whole deployment, and says the same wherever it is asked for."""


_ONE: Final[tuple[Labels, ...]] = ((),)

STARTS: Final = Metric(
    "horae_starts_total",
    "counter",
    ("origin",),
    "Runs that were started here.",
    begins=tuple((origin.value,) for origin in Origin),
)
LATE: Final = Metric(
    "horae_lateness_seconds", "histogram", (), "How long after it was due a run started.", LATENESS, _ONE
)
SETTLEMENT_DELAY: Final = Metric(
    "horae_settlement_delay_seconds",
    "histogram",
    (),
    "How long after a run ended its end was recorded; until then the run counts as running.",
    LATENESS,
    _ONE,
)
SETTLEMENTS_WAITING: Final = Metric(
    "horae_settlements_waiting", "gauge", (), "Runs of this process that have ended and are not recorded yet."
)
LENGTH: Final = Metric("horae_run_seconds", "histogram", (), "How long a run took, from its start.", LENGTHS, _ONE)
OUTCOMES: Final = Metric(
    "horae_outcomes_total", "counter", ("state", "reason"), "Runs that ended, by how and why; each attempt counts."
)
SKIPPED: Final = Metric(
    "horae_skipped_total", "counter", ("reason",), "Occurrences that came to nothing, by why; a stretch counts in full."
)
GOING: Final = Metric("horae_runs_going", "gauge", (), "Runs that this process carries now.")
CAPACITY: Final = Metric("horae_capacity", "gauge", (), "How many it carries at most.")
LEASE_LOSSES: Final = Metric(
    "horae_lease_losses_total",
    "counter",
    ("how",),
    "How often this node could not renew its lease in time (expired), or others had taken it for dead (taken).",
    begins=(("expired",), ("taken",)),
)
LEASE_LEFT: Final = Metric(
    "horae_lease_left_seconds", "gauge", (), "Seconds until this node must stop what it carries, unless it renews."
)
TAKEOVERS: Final = Metric(
    "horae_takeovers_total", "counter", (), "Dead nodes whose runs were taken over here.", begins=_ONE
)
RECOVERED: Final = Metric(
    "horae_recovered_runs_total", "counter", (), "Runs of dead nodes that were ended here.", begins=_ONE
)
STORE_CALLS: Final = Metric(
    "horae_store_call_seconds", "histogram", ("operation",), "How long calls of the store took.", QUICK
)
STORE_ERRORS: Final = Metric(
    "horae_store_errors_total", "counter", ("operation",), "Calls of the store that failed, by what was asked."
)
LAG: Final = Metric(
    "horae_loop_lag_seconds",
    "histogram",
    (),
    "How late the event loop did what was to be done at a time.",
    QUICK,
    _ONE,
    of="both",
)
REQUESTS: Final = Metric(
    "horae_http_requests_total",
    "counter",
    ("route", "method", "status"),
    "Requests over HTTP that were answered; status 499: the client left before.",
)
REQUEST_SECONDS: Final = Metric(
    "horae_http_request_seconds", "histogram", ("route",), "How long it took until the answer began.", QUICK
)
RATE_LIMITED: Final = Metric(
    "horae_rate_limited_total",
    "counter",
    ("by",),
    "Requests that were refused because there were too many: of an owner, from an address, or beyond a quota.",
    begins=(("owner",), ("address",), ("quota",)),
    of="api",
)
READERS: Final = Metric("horae_event_readers", "gauge", (), "Streams of events that are open.")
DELIVERIES: Final = Metric(
    "horae_webhook_attempts_total",
    "counter",
    ("outcome",),
    "Attempts to bring an event to a webhook.",
    begins=(("delivered",), ("failed",)),
    of="api",
)
BUILD: Final = Metric("horae_build_info", "gauge", ("version", "python"), "Always 1; the labels say what runs here.")

STORE_UP: Final = Metric("horae_store_up", "gauge", (), "1 when the store answered this scrape.", of_all=True)
TASKS: Final = Metric("horae_tasks", "gauge", ("state",), "Tasks, by state.", of_all=True)
QUEUE: Final = Metric(
    "horae_queue",
    "gauge",
    ("waiting",),
    "What is due and has not started: claimable (due), without a seat in its lane (parked), or without a node that can "
    "run it (stranded). Counted up to 1,000.",
    of_all=True,
)
HEAD_AGE: Final = Metric(
    "horae_agenda_head_age_seconds",
    "gauge",
    (),
    "How long what is first in line has been due; 0 when nothing is.",
    of_all=True,
)
NODES: Final = Metric("horae_nodes", "gauge", ("state",), "Nodes, by state.", of_all=True)
OFFSET: Final = Metric(
    "horae_clock_offset_seconds",
    "gauge",
    (),
    "The largest difference between a live node's clock and the store's.",
    of_all=True,
)
UNSEALED: Final = Metric(
    "horae_audit_unsealed", "gauge", (), "Audit rows that are not sealed yet. Counted up to 1,000.", of_all=True
)
ENGINE_SEEN: Final = Metric(
    "horae_engine_scraped",
    "gauge",
    (),
    "1 when the engine's process beside this one told its numbers; absent where there is none.",
    of_all=True,
)

METRICS: Final[tuple[Metric, ...]] = (
    *(
        STARTS,
        LATE,
        SETTLEMENT_DELAY,
        SETTLEMENTS_WAITING,
        LENGTH,
        OUTCOMES,
        SKIPPED,
        GOING,
        CAPACITY,
        LEASE_LOSSES,
        LEASE_LEFT,
        TAKEOVERS,
        RECOVERED,
    ),
    *(STORE_CALLS, STORE_ERRORS, LAG, REQUESTS, REQUEST_SECONDS, RATE_LIMITED, READERS, DELIVERIES, BUILD),
    *(STORE_UP, TASKS, QUEUE, HEAD_AGE, NODES, OFFSET, UNSEALED, ENGINE_SEEN),
)
