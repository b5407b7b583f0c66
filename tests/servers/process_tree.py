"""Signals to a process and all of its descendants: freeze, thaw, kill."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_END_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.001
_LOOKS: Final = int(_END_SECONDS / _LOOK_SECONDS)
_STANDING: Final = frozenset({b"T", b"t", b"Z"})
"""Process states: stopped, stopped by a debugger, ended."""


def children(parent: int) -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == parent]


def freeze(parent: int) -> None:
    """Stop the parent first, so that it starts no children; return when all have stopped."""
    _still(parent)
    for child in children(parent):
        _still(child)


def thaw(parent: int) -> None:
    _send(signal.SIGCONT, [*children(parent), parent])


def kill(parent: int) -> None:
    """Kill all processes at once; return when they are gone."""
    _still(parent)
    family = [parent, *children(parent)]
    handles = [handle for pid in family if (handle := _handle(pid)) is not None]
    _send(signal.SIGKILL, family)
    for handle in handles:
        assert _ends(handle, _END_SECONDS), "a process outlived kill -9"
        os.close(handle)


def _still(pid: int) -> None:
    """Wait until the process has stopped: a stop signal may take effect late, during a disk write or a fork."""
    handle = _handle(pid)
    if handle is None:
        return
    _send(signal.SIGSTOP, [pid])
    for _ in range(_LOOKS):
        if _STANDING.intersection(_state(Path("/proc") / str(pid))[:1]) or _ends(handle, _LOOK_SECONDS):
            os.close(handle)
            return
    raise AssertionError(f"process {pid} does not stop")


def _parent(entry: Path) -> int | None:
    return int(state[1]) if (state := _state(entry)) else None


def _state(entry: Path) -> list[bytes]:
    """Return state, parent and further fields of /proc/PID/stat; nothing if the process is gone."""
    try:
        # The name comes before them in brackets and may contain anything.
        return (entry / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _send(what: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


def _handle(pid: int) -> int | None:
    with suppress(ProcessLookupError):
        return os.pidfd_open(pid)
    return None


def _ends(handle: int, seconds: float) -> bool:
    return bool(select.select([handle], [], [], seconds)[0])
