"""Tells the engines of other processes that something was written: at once, and then at most every few milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

EVERY: Final = 0.005
"""Seconds. Each ring makes every engine look; where hundreds write in a second, one look answers for many of them."""


class Ringing:
    """What is written while it is quiet for a moment is told by the ring that ends it: nothing goes untold."""

    def __init__(self, ring: Callable[[], None], every: float = EVERY) -> None:
        self._ring = ring
        self._every = every
        self._quiet: asyncio.TimerHandle | None = None
        self._is_wanted = False

    def told(self) -> None:
        if self._quiet is not None:
            self._is_wanted = True
            return
        self._ring()
        self._quiet = asyncio.get_running_loop().call_later(self._every, self._over)

    def close(self) -> None:
        """What is still to be told is told now."""
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = None
        if self._is_wanted:
            self._is_wanted = False
            self._ring()

    def _over(self) -> None:
        self._quiet = None
        if self._is_wanted:
            self._is_wanted = False
            self.told()
