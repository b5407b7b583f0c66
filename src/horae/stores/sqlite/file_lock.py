"""Manners among processes that write to one file: whoever waits is next, so that one that is always busy starves nobody.

SQLite lets in whoever asks at the right moment, and that is nearly always the one that has just left. So each passes here
before it begins: who waits for the file stands in the gate, and who was in it comes after. The gate is a lock on the folder
of the file: nothing is left behind, and no lock of SQLite's own is touched. Nothing depends on it: where it cannot be had,
or somebody was stopped in it, writers go on as SQLite lets them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - where there is none, nobody waits in line
    fcntl = None  # type: ignore[assignment]

_LONGEST_WAIT: Final = 0.25
"""Seconds: longer than any transaction should take."""
_AVOIDED_SECONDS: Final = 10.0
"""So long nobody waits at a gate in which somebody stood for too long."""
_GLANCE: Final = 0.0003


class Turnstile:
    def __init__(self, path: str | None) -> None:
        """None: nobody else can write there."""
        self._gate: int | None = None
        self._not_before = 0.0
        self._never = Event()
        if path is not None and fcntl is not None:
            with suppress(OSError):
                self._gate = os.open(Path(path).parent, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Nobody overtakes whoever is in here."""
        is_in = self._gate is not None and self._enter(self._gate)
        try:
            yield
        finally:
            if is_in and self._gate is not None:
                fcntl.flock(self._gate, fcntl.LOCK_UN)

    def close(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            os.close(gate)

    def _enter(self, gate: int) -> bool:
        if _try(gate):
            return True
        now = perf_counter()
        if now < self._not_before:
            return False
        until = now + _LONGEST_WAIT
        while perf_counter() < until:
            self._never.wait(_GLANCE)
            if _try(gate):
                return True
        self._not_before = until + _AVOIDED_SECONDS
        return False


def _try(gate: int) -> bool:
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
