"""Fair lock between processes that write to one SQLite file (flock on its folder), so that a busy writer starves none.

SQLite's own lock goes to the process that tries at the right moment, nearly always the one that has just released it. So
a writer holds this lock while it waits for BEGIN, and a writer that has just committed queues behind it. The flock leaves
no file behind and touches none of SQLite's locks. Correctness does not depend on it: if the flock is not available, or
its holder is stopped, writers continue with SQLite's lock alone.
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
except ImportError:  # pragma: no cover - without flock, writers are not ordered
    fcntl = None  # type: ignore[assignment]

_MAX_WAIT_SECONDS: Final = 0.25
"""Longer than any transaction should take."""
_SKIP_SECONDS: Final = 10.0
"""After a timeout the lock is not waited for during this time."""
_RETRY_SECONDS: Final = 0.0003


class FileLock:
    def __init__(self, path: str | None) -> None:
        """`path` is the database file; None makes a lock that is always free, for connections that do not write."""
        self._folder: int | None = None
        self._skip_until = 0.0
        self._sleeper = Event()
        if path is not None and fcntl is not None:
            with suppress(OSError):
                self._folder = os.open(Path(path).parent, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock within the block; after `_MAX_WAIT_SECONDS` the block runs without it."""
        is_locked = self._folder is not None and self._acquire(self._folder)
        try:
            yield
        finally:
            if is_locked and self._folder is not None:
                fcntl.flock(self._folder, fcntl.LOCK_UN)

    def close(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            os.close(folder)

    def _acquire(self, folder: int) -> bool:
        if _try_lock(folder):
            return True
        now = perf_counter()
        if now < self._skip_until:
            return False
        until = now + _MAX_WAIT_SECONDS
        while perf_counter() < until:
            self._sleeper.wait(_RETRY_SECONDS)
            if _try_lock(folder):
                return True
        self._skip_until = until + _SKIP_SECONDS
        return False


def _try_lock(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
