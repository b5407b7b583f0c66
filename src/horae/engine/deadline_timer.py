"""Deadline timer: one loop timer for the earliest deadline of all active runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ..clock import Clock
from ..model.reason import Reason
from .active_run import ActiveRun


class DeadlineTimer:
    """Heartbeats move deadlines without touching the timer: it fires early, finds nothing overdue and is set again."""

    def __init__(self, clock: Clock, active_runs: Mapping[str, ActiveRun]) -> None:
        self._clock = clock
        self._active_runs = active_runs
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")

    def watch(self, run: ActiveRun) -> None:
        """Watch another run."""
        until = run.deadline_at
        if until < self._timer_at:
            self._set_timer(until)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, float("inf")

    def _set_timer(self, at: float) -> None:
        self.stop()
        self._timer_at = at
        delay = max(0.0, at - self._clock.steady())
        self._timer = asyncio.get_running_loop().call_later(delay, self._check_deadlines)

    def _check_deadlines(self) -> None:
        """End runs past their deadline, ask again those that do not react, and set the timer for the next deadline."""
        self._timer, self._timer_at = None, float("inf")
        steady = self._clock.steady()
        # A run whose start is not committed yet has no job, so it cannot have timed out.
        executing = [run for run in self._active_runs.values() if run.job is not None]
        for run in executing:
            if run.next_check_at <= steady:
                run.request_end(Reason.DEADLINE)
        if executing:
            self._set_timer(min(run.next_check_at for run in executing))
