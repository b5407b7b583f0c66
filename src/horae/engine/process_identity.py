"""Where a node lives: enough to see from the same machine that its process is gone, and never to be wrong about it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PROC = Path("/proc")


def own_home() -> str:
    """`machine/namespace/pid/start`: machine and namespace decide whether a pid means anything to a neighbour."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def is_gone(home: str) -> bool:
    """True only for a process of this very machine that certainly does not run any more."""
    machine, _, process = home.rpartition("/")[0].rpartition("/")
    started = home.rpartition("/")[2]
    if machine != _machine() or not process.isdecimal() or machine.startswith("?"):
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # somebody else's process has that number: the look at its start says more
    # The number may have been given to another process since.
    return "?" not in (started, now := _started(int(process))) and now != started


def _machine() -> str:
    """One boot of one kernel, and the namespace in which its process numbers count; `?` where that cannot be known."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = str((_PROC / "self/ns/pid").readlink())
        shown = str((_PROC / "self").readlink())
    except OSError:
        return f"?{sys.platform}"
    if shown != str(os.getpid()):
        # These are the processes of another namespace: their numbers are not ours.
        return f"?{sys.platform}"
    return f"{boot}/{space.strip('pid:[]')}"


def _started(process: int) -> str:
    """Ticks after boot at which a process began: with its number, that is one process and no other."""
    try:
        stat = (_PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "?"
    # The name may contain anything, so the fields are counted after its closing bracket.
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return "gone"
    return fields[19]
