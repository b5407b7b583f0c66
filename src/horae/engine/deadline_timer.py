"""One watch for all deadlines: a timer for the next one of them, however many runs go on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ..clock import Clock
from ..model.reason import Reason
from .active_run import Carried


class Watch:
    """Signs of life move deadlines without telling the watch: it looks, finds that it was early, and goes on."""

    def __init__(self, clock: Clock, going: Mapping[str, Carried]) -> None:
        self._clock = clock
        self._going = going
        self._timer: asyncio.TimerHandle | None = None
        self._at = float("inf")

    def over(self, carried: Carried) -> None:
        """One more to look after."""
        until = carried.silence_ends
        if until < self._at:
            self._wake_at(until)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, float("inf")

    def _wake_at(self, at: float) -> None:
        self.stop()
        self._at = at
        delay = max(0.0, at - self._clock.steady())
        self._timer = asyncio.get_running_loop().call_later(delay, self._look)

    def _look(self) -> None:
        """End what has been silent for too long, ask once more what does not listen, and sleep until the next one."""
        self._timer, self._at = None, float("inf")
        steady = self._clock.steady()
        # What still waits to be written down as started has not begun: it cannot have been silent.
        begun = [carried for carried in self._going.values() if carried.job is not None]
        for carried in begun:
            if carried.watched_until <= steady:
                carried.end(Reason.DEADLINE)
        if begun:
            self._wake_at(min(carried.watched_until for carried in begun))
