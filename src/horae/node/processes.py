"""Child processes under one supervisor process: one or more workers with an engine, and the HTTP API."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from ..clock import Clock
from .options import NodeOptions
from .sd_notify import NotifySocket, ServiceNotifier
from .supervisor import ChildExit, Supervisor, run_group

ChildKind: TypeAlias = Literal["worker", "api"]
_ENGINE_NAME: Final = "engine"
_SERVER_NAME: Final = "API"
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
    workers, server = worker_options(options), _server(options)
    names = {part.number: _worker_name(part) for part in workers}
    notifier = ServiceNotifier(manager, [*names.values(), *([] if server is None else [_SERVER_NAME])])

    def supervise(kind: ChildKind, part: NodeOptions) -> Supervisor:
        def command(control: int, _restarts: int) -> list[str]:
            # -P: no file in the current folder may shadow a module that the child imports.
            return [sys.executable, "-P", "-m", getattr(modules, kind), str(control)]

        def encoded(restarts: int) -> bytes:
            began = options.began if restarts == 0 else clock.steady()
            child = replace(part, supervised=True, restarts=restarts, began=began, beat_seconds=manager.beat_seconds)
            return child.encode()

        sockets = (part.api_socket, part.api_unix_socket, part.metrics_socket if kind == "worker" else None)
        pipes = part.refusal_token, part.header_reader, part.header_writer
        inherited = tuple(each for each in (*sockets, *pipes) if each is not None)
        on_status = partial(notifier.on_status, names[part.number] if kind == "worker" else _SERVER_NAME)
        return Supervisor(command, partial(on_exit, kind), clock, encoded, inherited, on_status)

    async def run() -> int:
        if not workers and server is not None:
            return await supervise("api", server).run(options.seconds)
        if len(workers) == 1 and server is None:
            return await supervise("worker", workers[0]).run(options.seconds)
        with _pipe() as (token, token_writer), _pipe() as (header, header_writer):
            os.write(token_writer, b"1")
            first, *others = (replace(part, refusal_token=token) for part in workers)
            engines = [supervise("worker", replace(first, header_writer=header_writer if others else None))]
            engines += [supervise("worker", replace(part, header_reader=header)) for part in others]
            api = None if server is None else supervise("api", replace(server, refusal_token=token))
            return await run_group(engines, api, options.seconds)

    return asyncio.run(run())


def worker_options(options: NodeOptions) -> list[NodeOptions]:
    """Return the options of each process with an engine; what a machine has once is in the first one."""
    if not options.engine:
        return []
    has_server = not options.serves_api_in_worker
    first = replace(options, api_socket=None, api_unix_socket=None) if has_server else options
    other = replace(options, api_socket=None, api_unix_socket=None, agents=False, stations=False)
    return [first, *(replace(other, number=number) for number in range(1, options.processes))]


def _server(options: NodeOptions) -> NodeOptions | None:
    """Return the options of the API process; None: there is none."""
    if options.api_socket is None or (options.engine and options.serves_api_in_worker):
        return None
    return replace(options, processes=1)


def _worker_name(part: NodeOptions) -> str:
    return f"{_ENGINE_NAME} {part.number + 1}" if part.processes > 1 else _ENGINE_NAME


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """Yield both ends of a pipe that children inherit; reading from it does not block."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(reader, False)
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)
