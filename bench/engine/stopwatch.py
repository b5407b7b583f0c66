"""Elapsed time and CPU time of a block."""

from __future__ import annotations

from time import perf_counter, process_time


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._started, self._busy = perf_counter(), process_time()

    def read(self) -> dict[str, float]:
        return {"seconds": perf_counter() - self._started, "busy": process_time() - self._busy}
