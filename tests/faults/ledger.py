"""Ledger that task functions write: one line per phase, fsynced before the function continues."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

Phase: TypeAlias = Literal["start", "effect", "end", "cancelled"]
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class Mark(NamedTuple):
    task: str
    key: str
    planned: datetime
    attempt: int
    run: str
    pid: int
    instant: datetime
    phase: Phase


class Ledger:
    """Append-only writer; one write call per line, so that several processes can share the file."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, _FLAGS, 0o600)

    def write(self, mark: Mark, *, durably: bool = True) -> None:
        os.write(self._handle, f"{json.dumps(mark._asdict(), default=datetime.isoformat)}\n".encode())
        if durably:
            os.fsync(self._handle)


class LinkMark(NamedTuple):
    """One line of a link of a chain: `root` is the planned instant that the chain began with, as results hand it on.

    `previous` are the names and run ids of the predecessors that the run was given.
    """

    root: str
    key: str
    run: str
    previous: list[tuple[str, str]]
    phase: Phase = "start"


class LinkLines:
    """Append-only writer of one link's file, fsynced."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, mark: LinkMark) -> None:
        handle = os.open(self._path, _FLAGS, 0o600)
        try:
            os.write(handle, f"{json.dumps(mark._asdict())}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)


def read_links(path: Path) -> list[LinkMark]:
    lines = path.read_text().splitlines() if path.exists() else ()
    marks = [LinkMark(**json.loads(line)) for line in lines]
    return [mark._replace(previous=[(name, run) for name, run in mark.previous]) for mark in marks]


def read(path: Path) -> tuple[Mark, ...]:
    return tuple(_mark(line) for line in path.read_text().splitlines()) if path.exists() else ()


def _mark(line: str) -> Mark:
    fields = json.loads(line)
    for name in ("planned", "instant"):
        fields[name] = datetime.fromisoformat(fields[name])
    return Mark(**fields)
