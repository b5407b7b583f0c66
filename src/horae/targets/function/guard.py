"""A child process must not outlive its node, nor may anything that it started."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_INHERITED: Final = 64


def die_with_parent(lifeline: int) -> None:
    """Must be called before any thread starts. `lifeline` is a pipe whose other end only the node holds."""
    _ask_kernel()
    # The kernel ends this process alone. A second one, which runs no foreign code, ends the group: no lock that a
    # function holds can stop it. It is nobody's child, so that a function that waits for its own children never sees it.
    if os.fork() == 0:
        if os.fork() == 0:
            _watch(lifeline)
        os._exit(0)
    os.wait()


def _ask_kernel() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - nobody else needs it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _watch(lifeline: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, lifeline)
    os.closerange(lifeline + 1, _INHERITED)
    poll = select.poll()
    poll.register(lifeline, 0)  # not for reading: only a hang-up is told
    while not poll.poll():
        pass
    os.killpg(0, signal.SIGKILL)
