"""Processes of an installation on this machine, found by the variables that every agent of it has."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from .spec_check import INSTALL_VARIABLE, RUN_VARIABLE


def marks(install: str, run: str) -> Mapping[str, str]:
    return {INSTALL_VARIABLE: install, RUN_VARIABLE: run}


def find_runs(install: str) -> Mapping[str, list[int]]:
    """Return the runs that have processes, with these; launchers have the mark as an argument."""
    runs: dict[str, list[int]] = {}
    for pid in _processes():
        run = _run_of(pid, install)
        if run is not None:
            runs.setdefault(run, []).append(pid)
    return runs


def kill(processes: list[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _processes() -> Iterator[int]:
    own = os.getpid()
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != own:
            yield int(path.name)


def _run_of(pid: int, install: str) -> str | None:
    words: set[str] = set()
    for file in ("environ", "cmdline"):
        with suppress(OSError):
            words |= set(Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace").split("\0"))
    if f"{INSTALL_VARIABLE}={install}" not in words:
        return None
    return next((word.partition("=")[2] for word in words if word.startswith(f"{RUN_VARIABLE}=")), None)
