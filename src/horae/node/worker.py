"""Worker of a node: opens an app with its engine, metrics and API, and runs it until a signal, a drain or a lost store."""

from __future__ import annotations

import asyncio
import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from ..app import Horae
from ..engine.settings import EngineSettings
from ..model.lanes.node_labels import check_node_name, parse_node_labels
from ..observe.metrics_server import EnginePeer, Observability
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
from .options import NodeOptions, check_processes
from .reports import AgentsReady, WorkerReports
from .store_file import StoreFile, stop_when_lost
from .supervisor import DRAINED, STORE_LOST

if TYPE_CHECKING:
    from ..runtime.agents.host import AgentCompanion

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
    check_processes(options.processes, app.url)
    observer = make_observer("engine" if options.api_socket is None else "both", app.clock, options.number)
    observability = make_observability(observer, settings, _other_engines(options))
    app.observe(observer)
    if supervisor is not None:
        app.on_engine_start = partial(supervisor.control.sendall, BEGUN)
    agents = _host_agents(app, settings) if options.agents else None
    if options.stations:
        app.configure_targets({"station": {"enabled": True}})
    async with (
        app,
        _observed(options, app, observability),
        serve_in_worker(options, settings, app, observability, reports),
    ):
        file = StoreFile(app.url)
        if agents is not None and agents.report is not None:
            runtime, found = agents.report
            reports.on_agents(AgentsReady(runtime, *found))
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


def _other_engines(options: NodeOptions) -> list[EnginePeer]:
    """Return the engine processes whose metrics this one shows with its own: the first process shows those of all."""
    others = options.metrics_addresses[1:] if options.number == 0 else ()
    return [EnginePeer(*address, options.metrics_key) for address in others]


def _host_agents(app: Horae, settings: Settings) -> AgentCompanion:
    from ..runtime.agents.host import AGENT_SETTINGS, AgentCompanion  # noqa: PLC0415 - few nodes have agents

    companion = AgentCompanion(settings, app.clock)
    app.accompany(companion, AGENT_SETTINGS)
    return companion


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
        interval = timedelta(seconds=options.poll)
        # An occurrence that is later than the poll ceiling counts as missed: no poll may take longer.
        terms = settings.terms._replace(poll_ceiling=max(settings.terms.poll_ceiling, interval))
        settings = replace(settings, precise=False, poll_interval=interval, terms=terms)
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
    if options.require_durable:
        settings = replace(settings, require_durable=True)
    return settings


async def _wait(stop: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""Number of the system call by machine: the C library has no function for it."""
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")
"""`struct sched_attr`: size, policy, flags, nice, priority, runtime (the slice), deadline, period."""
_SLICE_NANOSECONDS: Final = 200_000


def request_short_slice() -> bool:
    """Request a short time slice for this thread and those that it starts; return whether the kernel accepted it.

    A thread that wakes at a due instant then runs at once, not after the slice of another process: Linux 6.12 and later let
    a thread choose its slice, and the shorter one preempts; its share of the processor stays the same.
    A worker that an operator runs under another scheduling policy (`chrt`) keeps that one.
    """
    if sys.platform != "linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None:
        return False
    attributes = _ATTRIBUTES.pack(
        _ATTRIBUTES.size, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, _SLICE_NANOSECONDS, 0, 0
    )
    return bool(ctypes.CDLL(None).syscall(number, 0, attributes, 0) == 0)
