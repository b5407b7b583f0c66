"""Child processes of a node under one supervisor process: the worker with the engine, and the HTTP API."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from ..clock import Clock
from .options import NodeOptions
from .sd_notify import NotifySocket, ServiceNotifier
from .supervisor import ChildExit, Supervisor, run_both

ChildKind: TypeAlias = Literal["worker", "api"]
_STATUS_NAMES: Final[dict[ChildKind, str]] = {"worker": "engine", "api": "API"}
"""Names of the children in the status text of the service manager."""


class ChildModules(NamedTuple):
    """Modules that are run with `python -m MODULE FD` as child processes."""

    worker: str
    api: str


def run_supervised(
    options: NodeOptions, modules: ChildModules, clock: Clock, on_exit: Callable[[ChildKind, ChildExit], None]
) -> int:
    """Run the children until a stop is requested; returns the exit code. `on_exit`: a child died and will be restarted."""
    manager = NotifySocket.from_environment(os.environ)
    kinds = _child_kinds(options)
    notifier = ServiceNotifier(manager, [_STATUS_NAMES[kind] for kind in kinds])

    def supervise(kind: ChildKind, part: NodeOptions) -> Supervisor:
        def command(control: int, _restarts: int) -> list[str]:
            # -P: no file in the current folder may shadow a module that the child imports.
            return [sys.executable, "-P", "-m", getattr(modules, kind), str(control)]

        def encoded(restarts: int) -> bytes:
            began = options.began if restarts == 0 else clock.steady()
            child = replace(part, supervised=True, restarts=restarts, began=began, beat_seconds=manager.beat_seconds)
            return child.encode()

        inherited = tuple(
            each for each in (part.api_socket, part.api_unix_socket, part.metrics_socket) if each is not None
        )
        on_status = partial(notifier.on_status, _STATUS_NAMES[kind])
        return Supervisor(command, partial(on_exit, kind), clock, encoded, inherited, on_status)

    async def run() -> int:
        if kinds == ("worker",):
            return await supervise("worker", options).run(options.seconds)
        server = supervise("api", replace(options, metrics_socket=None))
        if kinds == ("api",):
            return await server.run(options.seconds)
        return await run_both(
            supervise("worker", replace(options, api_socket=None, api_unix_socket=None)), server, options.seconds
        )

    return asyncio.run(run())


def _child_kinds(options: NodeOptions) -> tuple[ChildKind, ...]:
    if not options.engine:
        return ("api",)
    if options.api_socket is None or options.serves_api_in_worker:
        return ("worker",)
    return "worker", "api"
