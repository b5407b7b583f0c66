"""Worker of a node: opens an app with its engine, metrics and API, and runs it until a signal, a drain or a lost store."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from ..app import Horae
from ..engine.settings import EngineSettings
from ..model.node_labels import check_node_name, parse_node_labels
from ..observe.metrics_server import Observability
from ..runtime.observability import (
    make_observability,
    make_observer,
    register_engine_gauges,
    run_metrics_server,
    run_observer,
)
from ..settings import Settings
from ..store_retry import restart_on_error
from .api_server import serve_in_worker
from .control_socket import BEGUN, SupervisorLink, send_ready
from .heartbeat import EngineHealth, send_beats
from .options import NodeOptions
from .reports import WorkerReports
from .store_file import StoreFile, stop_when_lost
from .supervisor import DRAINED, STORE_LOST

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def run_worker(
    app: Horae,
    options: NodeOptions,
    settings: Settings,
    reports: WorkerReports,
    stop: asyncio.Event,
    supervisor: SupervisorLink | None = None,
) -> int:
    """Run the app until `stop` is set, then stop gracefully; returns the exit code."""
    app.settings = _engine_settings(app.settings, options)
    observer = make_observer("engine" if options.api_socket is None else "both", app.clock)
    observability = make_observability(observer, settings)
    app.observe(observer)
    if supervisor is not None:
        app.on_engine_start = partial(supervisor.control.sendall, BEGUN)
    async with (
        app,
        _observed(options, app, observability),
        serve_in_worker(options, settings, app, observability, reports),
    ):
        file = StoreFile(app.url)
        await reports.on_open()
        if supervisor is not None:
            send_ready(supervisor.control)
        await reports.on_ready()
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "notice of waiting tasks": reports.watch,
            "watch over the store's file": partial(stop_when_lost, file, app.clock, stop, reports.on_store_lost),
            "watch over a drain": partial(_stop_when_drained, app, stop, reports),
            "sign of life": partial(_send_beats, options, app, supervisor),
        }
        jobs = [asyncio.ensure_future(restart_on_error(name, run, app.clock)) for name, run in loops.items()]
        try:
            await _wait(stop, None if options.supervised else options.seconds)
            app.is_stop_requested = supervisor is None or not supervisor.orphaned.is_set()
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
        was_drained = app.engine is not None and app.engine.drained.is_set()
        reports.on_stopping()
    reports.on_stopped()
    if file.is_lost:
        return STORE_LOST
    return DRAINED if was_drained else 0


def stop_event(*, force: bool) -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set, also where a script has started us in the background.

    `force`: without a supervisor that could kill the process, a second signal ends it at once.
    """
    stop = asyncio.Event()

    def on_signal(number: int) -> None:
        if stop.is_set() and force:
            os._exit(128 + number)
        stop.set()

    for each in _STOP_SIGNALS:
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt by itself
            asyncio.get_running_loop().add_signal_handler(each, on_signal, int(each))
    return stop


@asynccontextmanager
async def _observed(options: NodeOptions, app: Horae, observability: Observability) -> AsyncIterator[None]:
    if app.engine is not None:
        register_engine_gauges(observability.observer, app.engine, app.settings.capacity)
    async with (
        run_observer(observability.observer, app.clock),
        run_metrics_server(options.metrics_socket, options.metrics_key, app.service, app.clock, observability),
    ):
        yield


async def _stop_when_drained(app: Horae, stop: asyncio.Event, reports: WorkerReports) -> None:
    await app.until_drained()
    reports.on_drained()
    stop.set()


async def _send_beats(options: NodeOptions, app: Horae, supervisor: SupervisorLink | None) -> None:
    if supervisor is not None and options.beat_seconds is not None:
        health = EngineHealth(app)
        sender = send_beats(supervisor.control, options.beat_seconds, app.clock, lambda: health.is_healthy)
        await asyncio.gather(sender, health.watch(options.beat_seconds))


def _engine_settings(settings: EngineSettings, options: NodeOptions) -> EngineSettings:
    """Return the app's engine settings with those of the command line in their place."""
    if options.poll is not None:
        settings = replace(settings, precise=False, poll_interval=timedelta(seconds=options.poll))
    if options.batch is not None:
        settings = replace(settings, claim_limit=options.batch)
    if options.concurrency is not None:
        settings = replace(settings, capacity=options.concurrency)
    if options.lease is not None:
        settings = replace(settings, terms=settings.terms._replace(lease=timedelta(seconds=options.lease)))
    if options.labels:
        settings = replace(settings, labels=parse_node_labels(options.labels))
    if options.node_name is not None:
        settings = replace(settings, node_name=check_node_name(options.node_name))
    return settings


async def _wait(stop: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
