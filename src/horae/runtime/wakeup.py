"""Throttles wake-up notifications to other processes: the first write notifies at once, later ones every few ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

MIN_INTERVAL: Final = 0.005
"""Seconds. Each notification makes every engine poll; with hundreds of writes a second, one poll covers many."""


class ThrottledNotifier:
    """Rate-limited notifier: writes during the pause are covered by one notification at its end, so none is lost."""

    def __init__(self, notify: Callable[[], None], interval: float = MIN_INTERVAL) -> None:
        self._notify = notify
        self._interval = interval
        self._pause: asyncio.TimerHandle | None = None
        self._is_pending = False

    def notify(self) -> None:
        """Notify now, or at the end of the current pause."""
        if self._pause is not None:
            self._is_pending = True
            return
        self._notify()
        self._pause = asyncio.get_running_loop().call_later(self._interval, self._end_pause)

    def close(self) -> None:
        """Send a pending notification now."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._is_pending:
            self._is_pending = False
            self._notify()

    def _end_pause(self) -> None:
        self._pause = None
        if self._is_pending:
            self._is_pending = False
            self.notify()
