"""Testbed of one fault test: store, ledger of the targets, gates, and clock offsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from horae.clock import SystemClock
from horae.runtime import sqlite_path

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Testbed:
    """`folder` holds everything but the store, which may be on another file system or a database server."""

    __test__: ClassVar = False
    """Not a test class, despite its name."""
    folder: Path
    url: str

    @classmethod
    def on_file(cls, folder: Path, store: Path | None = None) -> Self:
        return cls(folder, f"sqlite:///{store or folder / 'horae.db'}")

    @property
    def store(self) -> Path:
        """Path of the store; raises AssertionError unless it is SQLite."""
        path = sqlite_path(self.url)
        assert path is not None, "only SQLite's store is a file"
        return Path(path)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    @property
    def offsets(self) -> Path:
        return self.folder / "offsets"

    def links(self, task: str) -> Path:
        """Return the file that the runs of one link of a chain write."""
        return self.folder / f"links-{task}"

    def gate(self, name: str) -> Path:
        return self.folder / f"gate-{name}"

    def open_gate(self, name: str) -> None:
        """Let every function that waits for this gate continue, in any process."""
        self.gate(name).touch()


def wait_until(condition: Callable[[], bool], within: float, what: str, every: float = POLL_SECONDS) -> float:
    """Poll until `condition` is true; return the seconds. Raises AssertionError after `within` seconds."""
    clock = SystemClock()
    began = clock.steady()
    while not condition():
        if clock.steady() - began > within:
            raise AssertionError(f"not within {within:g} s: {what}")
        clock.sleep(every)
    return clock.steady() - began
