"""Definitions of all Prometheus metrics; no label holds user-chosen text, which bounds the number of series."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..model.run import Origin
from ..model.stations.station import Cause

Kind = Literal["counter", "gauge", "histogram"]
Process = Literal["api", "engine", "both"]
Labels = tuple[str, ...]

PROCESS: Final = "process"
"""Label that distinguishes two processes of one machine; deployment-wide metrics do not have it."""

LATENESS_BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)
FAST_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
DURATION_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Metric(NamedTuple):
    """`initial_labels` lists the series that exist with 0 from the start, in the `process` that owns them.

    An alert cannot watch a series that does not exist yet.
    """

    name: str
    kind: Kind
    labels: Labels
    help: str
    edges: tuple[float, ...] = ()
    initial_labels: tuple[Labels, ...] = ()
    process: Process = "engine"
    is_deployment_wide: bool = False
    """Deployment-wide: every process reports the same value."""


_UNLABELLED: Final[tuple[Labels, ...]] = ((),)

STARTS: Final = Metric(
    "horae_starts_total",
    "counter",
    ("origin",),
    "Runs that were started here.",
    initial_labels=tuple((origin.value,) for origin in Origin),
)
RUN_LATENESS: Final = Metric(
    "horae_lateness_seconds", "histogram", (), "How long after it was due a run started.", LATENESS_BUCKETS, _UNLABELLED
)
SETTLEMENT_DELAY: Final = Metric(
    "horae_settlement_delay_seconds",
    "histogram",
    (),
    "How long after a run ended its end was recorded; until then the run counts as running.",
    LATENESS_BUCKETS,
    _UNLABELLED,
)
SETTLEMENTS_WAITING: Final = Metric(
    "horae_settlements_waiting", "gauge", (), "Runs of this process that have ended and are not recorded yet."
)
RUN_DURATION: Final = Metric(
    "horae_run_seconds", "histogram", (), "How long a run took, from its start.", DURATION_BUCKETS, _UNLABELLED
)
OUTCOMES: Final = Metric(
    "horae_outcomes_total", "counter", ("state", "reason"), "Ended runs, by state and reason; each attempt counts."
)
SKIPPED: Final = Metric(
    "horae_skipped_total", "counter", ("reason",), "Skipped occurrences, by reason; a span counts in full."
)
ACTIVE_RUNS: Final = Metric("horae_runs_going", "gauge", (), "Active runs of this process.")
CAPACITY: Final = Metric("horae_capacity", "gauge", (), "Maximum number of active runs of this process.")
LEASE_LOSSES: Final = Metric(
    "horae_lease_losses_total",
    "counter",
    ("how",),
    "How often this node could not renew its lease in time (expired), or others had taken it for dead (taken).",
    initial_labels=(("expired",), ("taken",)),
)
LEASE_LEFT: Final = Metric(
    "horae_lease_left_seconds", "gauge", (), "Seconds until this node must stop its runs, unless it renews its lease."
)
TAKEOVERS: Final = Metric(
    "horae_takeovers_total", "counter", (), "Dead nodes whose runs were taken over here.", initial_labels=_UNLABELLED
)
RECOVERED: Final = Metric(
    "horae_recovered_runs_total", "counter", (), "Runs of dead nodes that were ended here.", initial_labels=_UNLABELLED
)
STORE_CALLS: Final = Metric(
    "horae_store_call_seconds", "histogram", ("operation",), "How long calls of the store took.", FAST_BUCKETS
)
STORE_ERRORS: Final = Metric("horae_store_errors_total", "counter", ("operation",), "Failed store calls, by operation.")
LOOP_LAG: Final = Metric(
    "horae_loop_lag_seconds",
    "histogram",
    (),
    "How late timers of the event loop fire.",
    FAST_BUCKETS,
    _UNLABELLED,
    process="both",
)
REQUESTS: Final = Metric(
    "horae_http_requests_total",
    "counter",
    ("route", "method", "status"),
    "Requests over HTTP that were answered; status 499: the client left before.",
)
REQUEST_SECONDS: Final = Metric(
    "horae_http_request_seconds", "histogram", ("route",), "How long it took until the answer began.", FAST_BUCKETS
)
RATE_LIMITED: Final = Metric(
    "horae_rate_limited_total",
    "counter",
    ("by",),
    "Requests that were refused because there were too many: of an owner, from an address, or beyond a quota.",
    initial_labels=(("owner",), ("address",), ("quota",)),
    process="api",
)
EVENT_READERS: Final = Metric("horae_event_readers", "gauge", (), "Streams of events that are open.")
STATION_REFUSALS: Final = Metric(
    "horae_station_refusals_total",
    "counter",
    ("cause",),
    "Messages and connections of stations that the socket refused.",
    initial_labels=tuple((cause.value,) for cause in Cause),
)
WEBHOOK_ATTEMPTS: Final = Metric(
    "horae_webhook_attempts_total",
    "counter",
    ("outcome",),
    "Attempts to deliver an event to a webhook.",
    initial_labels=(("delivered",), ("failed",)),
    process="api",
)
BUILD_INFO: Final = Metric(
    "horae_build_info", "gauge", ("version", "python"), "Always 1; the labels say what runs here."
)

STORE_UP: Final = Metric(
    "horae_store_up", "gauge", (), "1 when the store answered this scrape.", is_deployment_wide=True
)
TASKS: Final = Metric("horae_tasks", "gauge", ("state",), "Tasks, by state.", is_deployment_wide=True)
QUEUE: Final = Metric(
    "horae_queue",
    "gauge",
    ("waiting",),
    "Due entries that have not started: claimable (due), without a free slot in its lane (parked), or without a node that can "
    "run it (stranded). Counted up to 1,000.",
    is_deployment_wide=True,
)
HEAD_AGE: Final = Metric(
    "horae_agenda_head_age_seconds",
    "gauge",
    (),
    "How long the head of the agenda has been due; 0 when nothing is due.",
    is_deployment_wide=True,
)
NODES: Final = Metric("horae_nodes", "gauge", ("state",), "Nodes, by state.", is_deployment_wide=True)
CLOCK_OFFSET: Final = Metric(
    "horae_clock_offset_seconds",
    "gauge",
    (),
    "The largest difference between a live node's clock and the store's.",
    is_deployment_wide=True,
)
AUDIT_UNSEALED: Final = Metric(
    "horae_audit_unsealed",
    "gauge",
    (),
    "Audit rows that are not sealed yet. Counted up to 1,000.",
    is_deployment_wide=True,
)
ENGINE_SCRAPED: Final = Metric(
    "horae_engine_scraped",
    "gauge",
    (),
    "1 when every other engine process of the node answered this scrape; absent where there is none.",
    is_deployment_wide=True,
)

METRICS: Final[tuple[Metric, ...]] = (
    *(
        STARTS,
        RUN_LATENESS,
        SETTLEMENT_DELAY,
        SETTLEMENTS_WAITING,
        RUN_DURATION,
        OUTCOMES,
        SKIPPED,
        ACTIVE_RUNS,
        CAPACITY,
        LEASE_LOSSES,
        LEASE_LEFT,
        TAKEOVERS,
        RECOVERED,
    ),
    *(
        STORE_CALLS,
        STORE_ERRORS,
        LOOP_LAG,
        REQUESTS,
        REQUEST_SECONDS,
        RATE_LIMITED,
        EVENT_READERS,
        STATION_REFUSALS,
        WEBHOOK_ATTEMPTS,
        BUILD_INFO,
    ),
    *(STORE_UP, TASKS, QUEUE, HEAD_AGE, NODES, CLOCK_OFFSET, AUDIT_UNSEALED, ENGINE_SCRAPED),
)
