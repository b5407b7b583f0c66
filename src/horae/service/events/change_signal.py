"""Signal that something was written, by this process or another one: an idle loop waits for it instead of polling."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from ...ports.full_store import Wakeup

LONGEST_SECONDS: Final = 120.0
"""Longest time without a poll: a notification may get lost."""


class ChangeSignal:
    """A loop notes `number` before it polls, and polls again once it has risen.

    Until it is connected to a notifier, it does not know of writes of other processes: a loop then polls at its own interval.
    """

    def __init__(self) -> None:
        self.number = 0
        self.is_connected = False
        self._has_risen = asyncio.Event()

    def connect(self, notifier: Wakeup) -> None:
        notifier.listen(self.note)
        self.is_connected = True

    def note(self) -> None:
        """Note a write; called on the event loop of the waiting loops."""
        self.number += 1
        self._has_risen.set()

    async def wait(self, number: int, seconds: float) -> None:
        """Return once something is written after `number` was noted, at the latest after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.number == number:
                    self._has_risen.clear()
                    await self._has_risen.wait()
