"""Processes below a launcher: adopts orphans, reaps and kills descendants, resets signals and limits; used by both launchers.

A launcher runs with `-I -S` and imports as little as possible, so this module takes from the standard library only what a
launcher needs anyway; signals are numbers, because `signal` loads `enum` (5 ms).
"""
# Pathlib and contextlib take time to load.
# ruff: noqa: PTH123, PTH208, SIM105

from __future__ import annotations

import ctypes
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is the slowest import
    from collections.abc import Callable, Iterable
    from typing import Final

SIGKILL: Final = 9
SIGTERM: Final = 15
IS_LINUX: Final = sys.platform == "linux"
_LAST_SIGNAL: Final = 31
"""Of the standard signals; those that cannot be changed keep their disposition."""
_SIG_DFL: Final = 0
_SIG_IGN: Final = 1
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
LIBC: Final = ctypes.CDLL(None, use_errno=True)
LIBC.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
LIBC.signal.restype = ctypes.c_void_p


def ignore_signals(*numbers: int) -> None:
    for number in numbers:
        LIBC.signal(number, _SIG_IGN)


def reset_signals() -> None:
    """Give every signal its default. Ignored ones are inherited: Python ignores some, and so does a host in the background."""
    for number in range(1, _LAST_SIGNAL + 1):
        LIBC.signal(number, _SIG_DFL)


def adopt_orphans() -> None:
    """Become the parent of processes that leave the session of a child, such as a daemon that forks twice."""
    if IS_LINUX:
        LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    if IS_LINUX:
        LIBC.prctl(_PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)


def limit(which: int, value: int) -> None:
    """Set a resource limit, at most this process's own; for CPU time the hard limit is a second above the soft one."""
    hard = value + 1 if which == resource.RLIMIT_CPU else value
    maximum = resource.getrlimit(which)[1]
    if maximum != resource.RLIM_INFINITY:
        value, hard = min(value, maximum), min(hard, maximum)
    resource.setrlimit(which, (value, hard))


def reap(child: int) -> int | None:
    """Reap every child that has ended; return the status of this one if it is among them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid == 0:
            return None


def kill_leftovers(kill: Callable[[], None]) -> None:
    """Kill what a child left behind, generation by generation: orphans become children of the launcher."""
    try:
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                kill()
                os.waitpid(-1, 0)
    except ChildProcessError:
        if not IS_LINUX:  # without a subreaper only the process group can be reached
            kill()


def signal_all(processes: Iterable[int], number: int) -> None:
    for pid in processes:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def descendants() -> list[int]:
    """Return the processes below this one, parents first; empty where /proc is missing."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if IS_LINUX else ():
        if name.isdigit() and (parent := _parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(os.getpid(), ()))
    for pid in found:  # the list grows while it is iterated
        found.extend(children.get(pid, ()))
    return found


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])  # the process name may contain a ")"
    except OSError:
        return None


def open_pidfd(pid: int) -> int | None:
    """Open a descriptor that becomes readable when the process ends; None where unsupported, or when it has ended."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def release_streams() -> None:
    """Point the standard streams to /dev/null: the host sees their end once the child has closed its own."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def send(channel: int, message: bytes) -> None:
    try:
        os.write(channel, message)
    except OSError:  # the host is gone
        pass
