"""The process that serves the HTTP API: `python -m horae.cli.node.api_process LINE`, started by `horae up` and by nobody else."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from functools import partial

from ...app.interpreter import interpreter
from ...clock import SystemClock
from ...errors import HoraeError
from ...store_retry import restart_on_error
from ..doctor.same_file import SameFile, stop_when_lost
from ..output.failure import ErrorStyle, end_with, environment_language
from ..output.streams import prepare_streams
from ..session.open_store import settings_of
from .fast_loop import run_fast
from .heartbeat import beating
from .supervisor import STORE_LOST
from .work_order import WorkOrder
from .worker_process import end_with_parent, line_of, tell_ready


def main() -> None:
    prepare_streams()
    order: WorkOrder | None = None
    try:
        line = line_of(sys.argv[1:])
        order = WorkOrder.heard(line)
        threading.Thread(target=end_with_parent, args=(line,), daemon=True, name="horae-parent").start()
        code = run_fast(_serve(order, line))
    except HoraeError as error:
        manner = ErrorStyle(environment_language(), as_json=False) if order is None else order.manner
        sys.exit(end_with(error, manner))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


async def _serve(order: WorkOrder, line: socket.socket) -> int:
    """Until SIGTERM or SIGINT; requests that are under way may end first."""
    from ...observe.metrics_server import EnginePeer  # noqa: PLC0415 - its libraries are extras
    from ...runtime.api_service import open_api, open_service  # noqa: PLC0415
    from ...runtime.http_server import serve_app  # noqa: PLC0415
    from ...runtime.observability import make_observability, make_observer, run_observer  # noqa: PLC0415
    from ..output.terminal_log import begin_node_log  # noqa: PLC0415
    from .api_server import announced  # noqa: PLC0415

    settings, url = settings_of(order.store), order.store or ""
    begin_node_log(order.out, settings, order.zone)
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    observer = make_observer("api", SystemClock())
    neighbour = EnginePeer(order.look_host, order.look_port, order.look_key) if order.look_port else None
    looking = make_observability(observer, settings, neighbour)
    with socket.socket(fileno=order.door) as door:
        async with (
            open_service(url, order.zone or "UTC", settings, observer) as (service, clock),
            run_observer(observer, clock),
            open_api(service, clock, settings, engine=order.engine, observability=looking) as app,
            serve_app(app, door) as address,
            announced(order, service, url, address),
        ):
            interpreter.acquire()
            interpreter.dedicate_process()
            file = SameFile(url)
            # With an engine beside us, that one looks, and tells of it.
            watching = partial(stop_when_lost, order.out, clock, file, stop)
            losing = (
                None
                if order.engine
                else asyncio.ensure_future(restart_on_error("watch over the store's file", watching, clock))
            )
            tell_ready(line)
            async with beating(line, order.beat, clock):
                await stop.wait()
            if losing is not None:
                losing.cancel()
    return STORE_LOST if file.lost else 0


if __name__ == "__main__":
    main()
