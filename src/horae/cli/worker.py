"""The process that carries the runs: `python -m horae.cli.worker ORDER`, started by `horae up` and by nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from typing import Final, NoReturn

from ..errors import HoraeError
from .failure import Manner, end_with, environment_language
from .streams import prepare_streams
from .supervising import READY
from .work_order import WorkOrder
from .working import work

_PATIENCE_SECONDS: Final = 30.0
"""So long may a worker take to stop in good order when the process that started it has died."""


def main() -> None:
    prepare_streams()
    order: WorkOrder | None = None
    try:
        order = WorkOrder.read(sys.argv[1] if len(sys.argv) == 2 else "")
        code = run(order)
    except HoraeError as error:
        language = environment_language() if order is None else order.language
        sys.exit(end_with(error, Manner(language, as_json=order is not None and order.json)))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def run(order: WorkOrder) -> int:
    if order.line is None:
        return asyncio.run(work(order))
    line = socket.socket(fileno=order.line)
    line.set_inheritable(False)
    threading.Thread(target=_end_with_parent, args=(line,), daemon=True, name="horae-parent").start()
    return asyncio.run(work(order, lambda: _tell_ready(line)))


def _tell_ready(line: socket.socket) -> None:
    line.sendall(READY)


def _end_with_parent(line: socket.socket) -> NoReturn:
    """The line ends when the process that started us does: then nobody could stop us any more, so we do."""
    try:
        while line.recv(64):
            pass
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_PATIENCE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
