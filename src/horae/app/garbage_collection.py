"""Tunes the garbage collector's thresholds and the thread switch interval while an app is open, and restores them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GC_THRESHOLD: Final = (20_000, 10, 10)
"""Net allocations between collections: a node makes many values and few cycles, so Python's 700 collects too often."""
_SWITCH_INTERVAL: Final = 0.0005
"""Seconds. A claim changes threads a dozen times: next to a computing thread, Python's 5 ms each make it 0.1 s late."""
_DEDICATED_SWITCH_INTERVAL: Final = 0.0001
"""Seconds, in a process that only runs Horae. The SQLite writer holds the file lock while it waits for the interpreter
lock: at half a millisecond, that was two thirds of the time a batch of new tasks held it."""


class InterpreterTuning:
    """Interpreter settings, counted over all open apps of the process because they are process-wide.

    Values that the program has tuned itself are left alone.
    """

    def __init__(self) -> None:
        self._open_apps = 0
        # (value before, value set) of each setting.
        self._gc_threshold: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
        self._switch_interval: tuple[float, float] | None = None
        self._gc_pauses = 0

    def acquire(self) -> None:
        """Count an app as open; the first one changes the settings."""
        self._open_apps += 1
        if self._open_apps > 1:
            return
        threshold, interval = gc.get_threshold(), sys.getswitchinterval()
        if gc.isenabled() and 0 < threshold[0] < _GC_THRESHOLD[0]:
            gc.set_threshold(*_GC_THRESHOLD)
            self._gc_threshold = threshold, gc.get_threshold()
        if interval > _SWITCH_INTERVAL:
            sys.setswitchinterval(_SWITCH_INTERVAL)
            self._switch_interval = interval, sys.getswitchinterval()

    def dedicate_process(self) -> None:
        """Freeze the garbage collector's objects and shorten the switch interval further.

        For a long-lived process that only runs Horae: what exists now stays, and no foreign threads are slowed down.
        """
        gc.collect()
        gc.freeze()
        if sys.getswitchinterval() > _DEDICATED_SWITCH_INTERVAL:
            sys.setswitchinterval(_DEDICATED_SWITCH_INTERVAL)

    def release(self) -> None:
        """Count an app as closed; the last one restores the settings, unless the program changed them meanwhile."""
        self._open_apps -= 1
        if self._open_apps:
            return
        # Compared with the value read back after setting: Python may round it.
        if self._gc_threshold is not None and gc.get_threshold() == self._gc_threshold[1]:
            gc.set_threshold(*self._gc_threshold[0])
        if self._switch_interval is not None and sys.getswitchinterval() == self._switch_interval[1]:
            sys.setswitchinterval(self._switch_interval[0])
        self._gc_threshold = self._switch_interval = None

    @contextmanager
    def without_gc(self) -> Iterator[None]:
        """Disable garbage collection: with the values of a hundred thousand tasks alive, one collection takes 0.1 s."""
        if not self._gc_pauses and not gc.isenabled():
            yield
            return
        self._gc_pauses += 1
        gc.disable()
        try:
            yield
        finally:
            self._gc_pauses -= 1
            if not self._gc_pauses:
                gc.enable()


interpreter_tuning: Final = InterpreterTuning()
