"""Process identity (boot, pid namespace, pid, start time), by which a node on the same machine sees that a process is dead."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PROC = Path("/proc")


def own_home() -> str:
    """Return `boot/namespace/pid/start`; a pid is comparable only within the same boot and pid namespace."""
    return f"{_boot_and_namespace()}/{os.getpid()}/{_started(os.getpid())}"


def is_gone(home: str) -> bool:
    """Return True only for a process of this machine that is certainly dead; False where that cannot be known."""
    machine, _, process = home.rpartition("/")[0].rpartition("/")
    started = home.rpartition("/")[2]
    if machine != _boot_and_namespace() or not process.isdecimal() or machine.startswith("?"):
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # a process of another user has this pid; its start time decides
    # The pid may have been reused by another process.
    return "?" not in (started, now := _started(int(process))) and now != started


def _boot_and_namespace() -> str:
    """Return boot id and pid namespace of this process; `?` and the platform where they cannot be read."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str((_PROC / "self/ns/pid").readlink())
        visible_pid = str((_PROC / "self").readlink())
    except OSError:
        return f"?{sys.platform}"
    if visible_pid != str(os.getpid()):
        # /proc shows another pid namespace, so its pids cannot be compared.
        return f"?{sys.platform}"
    return f"{boot}/{namespace.strip('pid:[]')}"


def _started(process: int) -> str:
    """Return the start time of a process in clock ticks after boot, which identifies it together with its pid."""
    try:
        stat = (_PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "?"
    # The process name may contain any character, so fields are counted after its closing bracket.
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return "gone"
    return fields[19]
