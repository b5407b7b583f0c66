"""Where one test happens: the store, the ledger that the targets write, gates, and a clock that can be set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from horae.clock import SystemClock
from horae.runtime import sqlite_path

LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Place:
    """`folder` holds everything but the store, which may be a file on a file system of its own, or a server's."""

    folder: Path
    url: str

    @classmethod
    def on_file(cls, folder: Path, store: Path | None = None) -> Self:
        return cls(folder, f"sqlite:///{store or folder / 'horae.db'}")

    @property
    def store(self) -> Path:
        """Where the store is a file, that file."""
        path = sqlite_path(self.url)
        assert path is not None, "only SQLite's store is a file"
        return Path(path)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    @property
    def offsets(self) -> Path:
        return self.folder / "offsets"

    def gate(self, name: str) -> Path:
        return self.folder / f"gate-{name}"

    def open_gate(self, name: str) -> None:
        """Whoever waits before it goes on, in whichever process that is."""
        self.gate(name).touch()


def until(condition: Callable[[], bool], within: float, what: str, every: float = LOOK_SECONDS) -> float:
    """Wait until something is so, and say how many seconds that took; that it never comes to be so is a failure."""
    clock = SystemClock()
    began = clock.steady()
    while not condition():
        if clock.steady() - began > within:
            raise AssertionError(f"not within {within:g} s: {what}")
        clock.sleep(every)
    return clock.steady() - began
