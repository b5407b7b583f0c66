"""The process that carries the runs: `python -m horae.cli.node.worker_process LINE`, started by `horae up` and by nobody else."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Final, NoReturn

from ...errors import HoraeError
from ..messages.operating_refusals import refuse
from ..output.failure import ErrorStyle, end_with, environment_language
from ..output.streams import prepare_streams
from .fast_loop import run_fast
from .node import work
from .supervisor import READY
from .work_order import WorkOrder

_PATIENCE_SECONDS: Final = 30.0
"""So long may a worker take to stop in good order when the process that started it has died."""


def main() -> None:
    prepare_streams()
    order: WorkOrder | None = None
    try:
        line = line_of(sys.argv[1:])
        order = WorkOrder.heard(line)
        code = run(order, line)
    except HoraeError as error:
        manner = ErrorStyle(environment_language(), as_json=False) if order is None else order.manner
        sys.exit(end_with(error, manner))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def run(order: WorkOrder, line: socket.socket | None = None) -> int:
    """`line` leads to the process that started us, if one did."""
    if line is None:
        return run_fast(work(order))
    orphaned = threading.Event()
    threading.Thread(target=end_with_parent, args=(line, orphaned), daemon=True, name="horae-parent").start()
    return run_fast(work(order, lambda: tell_ready(line), line, orphaned))


def line_of(arguments: list[str]) -> socket.socket:
    try:
        (number,) = map(int, arguments)
        line = socket.socket(fileno=number)
    except (ValueError, OSError):
        raise refuse("not_supervised_here", value=" ".join(arguments)) from None
    line.set_inheritable(False)
    return line


def tell_ready(line: socket.socket) -> None:
    line.sendall(READY)


def end_with_parent(line: socket.socket, orphaned: threading.Event | None = None) -> NoReturn:
    """The line ends when the process that started us does: then nobody could stop us any more, so we do. `orphaned` is set
    before the signal, so that the stop is not taken for a requested one."""
    try:
        while line.recv(64):
            pass
    except OSError:
        pass
    if orphaned is not None:
        orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_PATIENCE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
