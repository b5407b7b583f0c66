"""API process of `horae up`, which starts it as `python -m horae.cli.api_process FD`."""

from __future__ import annotations

import socket

from ..node.control_socket import SupervisorLink, watch_supervisor
from ..node.event_loop import run_fast
from .node_options import UpOptions
from .session.open_store import settings_of
from .worker_process import run_child


def main() -> None:
    run_child(run)


def run(options: UpOptions, control: socket.socket) -> int:
    return run_fast(_serve(options, watch_supervisor(control)))


async def _serve(options: UpOptions, supervisor: SupervisorLink) -> int:
    from ..node.api_server import run_api_process  # noqa: PLC0415 - its libraries are extras
    from .output.node_reports import PrintedReports  # noqa: PLC0415
    from .output.terminal_log import configure_node_log  # noqa: PLC0415

    settings, out = settings_of(options.store), options.make_printer()
    configure_node_log(out, settings, options.zone)
    return await run_api_process(options, settings, supervisor, PrintedReports(out, options))


if __name__ == "__main__":
    main()
