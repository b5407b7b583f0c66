"""Worker process of `horae up`, which starts it as `python -m horae.cli.worker_process FD`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from dataclasses import replace

from ..app import Horae
from ..clock import SystemClock
from ..errors import HoraeError, StoreError
from ..node.control_socket import SupervisorLink, control_socket, watch_supervisor
from ..node.event_loop import run_fast
from ..node.worker import request_short_slice, run_worker, stop_event
from ..service.tasks.demo_tasks import FLAKY
from ..targets.function.context import Context
from .app_loader import load_app
from .node_options import UpOptions
from .output.failure import ErrorStyle, environment_language, exit_code_of, print_failure
from .output.node_reports import PrintedWorkerReports
from .output.streams import prepare_streams
from .output.terminal_log import configure_node_log


def flaky(ctx: Context) -> str:
    """Fail at the first attempt and succeed at the next."""
    if ctx.attempt == 1:
        raise ConnectionError("the demo fails on purpose at its first attempt")
    return f"it worked at attempt {ctx.attempt}"


def register_demo_function(app: Horae) -> None:
    """Register the function of the flaky demo task; also without `--demo`, as the task may exist from an earlier start."""
    app.task(name=FLAKY)(flaky)


def main() -> None:
    run_child(run)


def run_child(run: Callable[[UpOptions, socket.socket], int]) -> None:
    """Run a child with the options from its control socket, and exit with its code; an error is printed."""
    prepare_streams()
    options: UpOptions | None = None
    try:
        control = control_socket(sys.argv[1:])
        options = UpOptions.receive(control)
        code = run(options, control)
    except HoraeError as error:
        style = ErrorStyle(environment_language(), as_json=False) if options is None else options.error_style
        # Children that meet the same refusal print it once: several engines all load the app, the API opens the store too.
        is_shared = options is not None and (isinstance(error, StoreError) or options.processes > 1)
        is_printed = options is None or not is_shared or options.takes_refusal(SystemClock().steady())
        sys.exit(print_failure(error, style) if is_printed else exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def run(options: UpOptions, control: socket.socket | None = None) -> int:
    """Run the worker; `control` leads to the supervisor, if there is one."""
    request_short_slice()
    return run_fast(_work(options, None if control is None else watch_supervisor(control)))


async def _work(options: UpOptions, supervisor: SupervisorLink | None) -> int:
    # Before the app's module is imported, which may take long.
    stop = stop_event(force=not options.supervised)
    out = options.make_printer()
    settings = out.settings
    configure_node_log(out, settings, options.zone)
    app = _make_app(options)
    if not out.store and not app.url.startswith("memory:"):
        # Printed commands name the store of the app, which may be another than the default one.
        out = replace(out, store=app.url)
    configure_node_log(out, settings, options.zone, failures=out.json)
    reports = PrintedWorkerReports(out, options, settings, app)
    return await run_worker(app, options, settings, reports, stop, supervisor)


def _make_app(options: UpOptions) -> Horae:
    if options.place is not None:
        return load_app(options.place, options.store)
    app = Horae(options.store, zone=options.zone)
    register_demo_function(app)
    return app


if __name__ == "__main__":
    main()
