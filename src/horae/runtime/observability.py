"""Sets up observability of a process from the settings: logging, metrics, tracing, and a node's metrics server."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ..clock import Clock
from ..observe import metric_definitions
from ..observe.counters import MetricSet
from ..observe.health import TOLERANCE
from ..observe.logs import RUNS_LOGGER, configure_logging
from ..observe.metric_definitions import Process
from ..observe.metrics_server import EnginePeer, MetricsEndpoint, Observability, serve_metrics
from ..observe.observer import Observer
from ..observe.scrape_access import read_policy
from ..observe.traces import tracing_from_environment
from ..service.events.background_work import read_watch_settings
from ..service.service import Service
from ..settings import Settings
from .process_settings import read_clock_tolerance

if TYPE_CHECKING:
    from ..engine.engine import Engine


SAMPLE_SECONDS: Final = 0.25


async def watch_lag(clock: Clock, figures: MetricSet) -> None:
    """Sample the lag until cancelled."""
    lag = figures.histogram(metric_definitions.LOOP_LAG)
    while True:
        due = clock.steady() + SAMPLE_SECONDS
        await clock.pause(SAMPLE_SECONDS)
        lag.add(clock.steady() - due)


_VIA: Final = "metrics"


def configure_log(
    settings: Settings,
    zone: str | None = None,
    *,
    failures: bool = True,
    on_terminal: Callable[[str], logging.Formatter] | None = None,
) -> None:
    """Configure logging from the settings.

    `zone` is the time zone of a text log. Without `failures`, a text log omits failed runs, because the caller prints
    each of them itself. `on_terminal` makes the formatter for a terminal.
    """
    log_format, file = str(settings.value("log")), settings.value("log_file")
    configure_logging(
        log_format,
        str(settings.value("log_level")),
        file=None if file is None else str(file),
        zone=zone or "UTC",
        on_terminal=on_terminal,
    )
    omit_failures = not failures and log_format.strip().lower() == "text"
    logging.getLogger(RUNS_LOGGER).setLevel(logging.ERROR if omit_failures else logging.NOTSET)


def make_observer(process: Process, clock: Clock, number: int = 0) -> Observer:
    """Make the observer of a process; `number` is that of an engine among several of one supervisor, from 0."""
    return Observer(process, clock, tracing_from_environment(os.environ, process), number)


def make_observability(
    observer: Observer, settings: Settings, engine_peers: Sequence[EnginePeer] = ()
) -> Observability:
    """Build the scrape settings; raises a refusal for invalid ones before any server listens."""
    policy = read_policy(str(settings.value("metrics")))
    tolerance = read_clock_tolerance(settings) or TOLERANCE
    return Observability(observer, policy, tuple(engine_peers), tolerance, read_watch_settings(settings).grace)


@asynccontextmanager
async def run_observer(observer: Observer, clock: Clock) -> AsyncIterator[None]:
    """Measure the event loop's lag while the block runs; on exit, export the last spans."""
    lag_watch = asyncio.ensure_future(watch_lag(clock, observer.metrics))
    try:
        yield
    finally:
        lag_watch.cancel()
        # Not `suppress`, which would lose a cancellation of this block.
        (ended,) = await asyncio.gather(lag_watch, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended
        if observer.tracing is not None:
            await asyncio.to_thread(observer.tracing.close)


def register_engine_gauges(observer: Observer, engine: Engine, capacity: int) -> None:
    """Register the gauges that are read from the engine."""
    figures, runner, lease = observer.metrics, engine.runner, engine.lease
    figures.gauge(metric_definitions.ACTIVE_RUNS).set_callback(lambda: runner.active_count)
    settler = engine.settler
    figures.gauge(metric_definitions.SETTLEMENTS_WAITING).set_callback(lambda: settler.pending)
    figures.gauge(metric_definitions.CAPACITY).set_callback(lambda: capacity)
    figures.gauge(metric_definitions.LEASE_LEFT).set_callback(lambda: max(0.0, lease.seconds_left))


@asynccontextmanager
async def run_metrics_server(
    descriptor: int | None, key: str, service: Service, clock: Clock, observability: Observability
) -> AsyncIterator[None]:
    """Run the node's metrics server on an inherited socket, given by its descriptor; None: no server."""
    if descriptor is None:
        yield
        return
    room = MetricsEndpoint(
        observability.observer,
        service.store,
        clock,
        lambda text: service.tokens.authenticate(text, via=_VIA),
        observability.policy,
        key,
        observability.engine_peers,
    )
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        async with serve_metrics(room, listener):
            yield
