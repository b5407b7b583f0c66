"""The node's clock, corrected to the store's where that has one of its own: what is due is one question for all nodes."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from ..clock import Clock

NOTEWORTHY: Final = timedelta(seconds=1)
LOG: Final = logging.getLogger("horae")


class CorrectedClock:
    """`offset` is what the machine's clock lacks. The keeper sets it, everybody reads it, from any thread."""

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self.offset = timedelta(0)
        self._told = timedelta(0)

    def now(self) -> datetime:
        return self._machine.now() + self.offset

    def steady(self) -> float:
        return self._machine.steady()

    def sleep(self, seconds: float) -> None:
        self._machine.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        await self._machine.pause(seconds)

    def compare(self, asked: datetime, store: datetime, answered: datetime) -> bool:
        """The store read its clock between a question and its answer, both by this clock: only what lies outside differs.

        So a slow answer, or a clock that is right, moves nothing. Whether it was moved.
        """
        if asked <= store <= answered:
            return False
        self.offset += store - (asked if store < asked else answered)
        self._tell()
        return True

    def _tell(self) -> None:
        """Once, and again when it has moved: each renewal may correct it by a little, and that is no news."""
        if abs(self.offset - self._told) < NOTEWORTHY:
            return
        self._told = self.offset
        if abs(self.offset) >= NOTEWORTHY:
            LOG.warning(
                "this machine's clock differs from the store's, and is corrected by %+.3f s",
                self.offset.total_seconds(),
            )
