"""Where one test happens: the store's file, the ledger that the targets write, gates, and a clock that can be set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from horae.clock import SystemClock

LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Place:
    """`folder` holds everything but the store's file, which may stand on a file system of its own."""

    folder: Path
    store: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.store}"

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
