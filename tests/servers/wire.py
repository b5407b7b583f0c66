"""Wire model of the proxy: data pass, wait, or are dropped."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum, auto


class Mode(Enum):
    OPEN = auto()
    STALLED = auto()
    DEAF = auto()
    HALF_OPEN = auto()
    CUT = auto()


class Toward(Enum):
    SERVER = auto()
    CLIENT = auto()


class Wire:
    """State shared by all links of a proxy; used on the proxy's loop only."""

    def __init__(self) -> None:
        self.mode = Mode.OPEN
        self._delay = 0.0
        self._changed = asyncio.Event()

    def change(self, mode: Mode, delay: float) -> None:
        self.mode = mode
        self._delay = delay
        # Waiting chunks look again now; later ones wait for the next change.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def swallows(self, toward: Toward) -> bool:
        return self.mode is Mode.HALF_OPEN or (self.mode is Mode.DEAF and toward is Toward.CLIENT)

    async def admits(self, toward: Toward) -> bool:
        """Delay a chunk while the wire is slow or stalled; return whether it arrives."""
        if self._delay > 0:
            # Not wait_for, which before Python 3.12 loses a cancellation that comes together with the change.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._delay):
                    await self._changed.wait()
        while self.mode is Mode.STALLED:
            await self._changed.wait()
        return not self.swallows(toward)
