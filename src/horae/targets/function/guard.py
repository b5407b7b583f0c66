"""Parent-death guard of a child process: kills it and its process group when the node dies."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_MAX_INHERITED_FD: Final = 64


def die_with_parent(lifeline: int) -> None:
    """Arrange to be killed with the parent. Call before any thread starts.

    `lifeline` is a pipe whose other end only the node holds.
    """
    _set_parent_death_signal()
    # The kernel kills this process alone. A watchdog process, which runs no foreign code and so cannot be blocked by a
    # function's lock, kills the group. It is forked twice, so that a function waiting for its children never sees it.
    if os.fork() == 0:
        if os.fork() == 0:
            _watch(lifeline)
        os._exit(0)
    os.wait()


def _set_parent_death_signal() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - needed on Linux only

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _watch(lifeline: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, lifeline)
    os.closerange(lifeline + 1, _MAX_INHERITED_FD)
    poll = select.poll()
    poll.register(lifeline, 0)  # reports a hang-up only, not data
    while not poll.poll():
        pass
    os.killpg(0, signal.SIGKILL)
