"""Wait of a polling loop that another part of the process can end early."""

from __future__ import annotations

import asyncio

from ...clock import Clock


class WakeUp:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def set(self) -> None:
        """End the wait that goes on now, or the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait that long, or until `set` is called."""
        waiting = asyncio.ensure_future(self._clock.pause(seconds))
        woken = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((waiting, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            woken.cancel()
            # `gather` reports the cancellation of this task itself; suppressing that of the two would lose it.
            await asyncio.gather(waiting, woken, return_exceptions=True)
            self._event.clear()
