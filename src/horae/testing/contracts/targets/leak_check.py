"""Leak check for targets: asyncio tasks, child processes, sockets and pipes that outlive the target."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple, Self

from ....clock import SystemClock

_PROCESSES: Final = Path("/proc")
_NUMBERS: Final = Path("/proc/self/fd")
_KINDS: Final = ("socket:", "pipe:", "anon_inode:[pidfd]", "/memfd:")
_LOOK: Final = 0.02


class ProcessSnapshot(NamedTuple):
    """Asyncio tasks, child processes and open descriptors at one moment; the last two on Linux only."""

    tasks: frozenset[asyncio.Task[object]]
    processes: frozenset[int]
    streams: frozenset[str]

    @classmethod
    def now(cls) -> Self:
        return cls(frozenset(asyncio.all_tasks()), frozenset(_descendants()), frozenset(_streams()))

    async def assert_no_leaks(self, patience: timedelta) -> None:
        """Wait until nothing is left beyond this snapshot; raise AssertionError after `patience`."""
        clock = SystemClock()
        for _ in range(int(patience.total_seconds() / _LOOK) + 1):
            more = self._leaks()
            if not more:
                return
            await clock.pause(_LOOK)
        raise AssertionError(f"left after the target was closed: {'; '.join(self._leaks())}")

    def _leaks(self) -> list[str]:
        now = ProcessSnapshot.now()
        return [
            *(f"the asyncio task {task.get_name()}" for task in now.tasks - self.tasks),
            *(f"the process {pid} ({_command(pid)})" for pid in now.processes - self.processes),
            *(f"an open {stream}" for stream in now.streams - self.streams),
        ]


def _descendants() -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for folder in _PROCESSES.glob("[0-9]*"):
        parent = _parent(folder)
        if parent is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found = list(children.get(os.getpid(), ()))
    for pid in found:  # grows during the loop
        found.extend(children.get(pid, ()))
    yield from found


def _parent(folder: Path) -> int | None:
    try:
        return int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):  # the process has ended meanwhile
        return None


def _command(pid: int) -> str:
    try:
        return (_PROCESSES / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "gone"


def _streams() -> Iterator[str]:
    for number in tuple(_NUMBERS.iterdir()) if _NUMBERS.exists() else ():
        try:
            leads_to = str(number.readlink())
        except OSError:  # the descriptor of this listing itself
            continue
        if leads_to.startswith(_KINDS):
            yield leads_to
