"""Process statistics from /proc: memory, sockets, and child processes that outlived a node."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.faults.functions import FOLDER
from tests.faults.processes import is_alive


class Memory(NamedTuple):
    """Sizes in megabytes."""

    resident: float
    peak: float


def memory_of(pid: int) -> Memory:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Memory(*(int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")))


def open_sockets(pid: int) -> int:
    return sum(target.startswith("socket:") for target in _targets(Path(f"/proc/{pid}/fd")))


def survivors(folder: Path, runs: Sequence[str]) -> list[int]:
    """Find processes that inherited the node's folder or the id of a run in their environment."""
    marks = [f"{FOLDER}={folder}\0".encode(), *(f"HORAE_RUN_ID={run}\0".encode() for run in runs)]
    return [pid for pid, environment in _environments() if is_alive(pid) and any(mark in environment for mark in marks)]


def _targets(folder: Path) -> Iterator[str]:
    for each in folder.iterdir():
        with suppress(OSError):
            yield str(each.readlink())


def _environments() -> Iterator[tuple[int, bytes]]:
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) != os.getpid():
            with suppress(OSError):
                yield int(each.name), (each / "environ").read_bytes() + b"\0"
