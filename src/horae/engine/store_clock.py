"""Clock corrected to the store's clock, so that all nodes agree on which entries are due."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from ..clock import Clock

LOG_THRESHOLD: Final = timedelta(seconds=1)
LOG: Final = logging.getLogger("horae")


class CorrectedClock:
    """Machine clock plus `offset`. The keeper sets the offset; any thread may read."""

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self.offset = timedelta(0)
        self._logged_offset = timedelta(0)

    def now(self) -> datetime:
        return self._machine.now() + self.offset

    def steady(self) -> float:
        return self._machine.steady()

    def sleep(self, seconds: float) -> None:
        self._machine.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        await self._machine.pause(seconds)

    def correct(self, sent_at: datetime, store: datetime, received_at: datetime) -> bool:
        """Correct the offset if the store's time lies outside the interval of the request; return whether it was corrected.

        The store read its clock between `sent_at` and `received_at` (by this clock), so a slow answer or a correct clock
        changes nothing.
        """
        if sent_at <= store <= received_at:
            return False
        self.offset += store - (sent_at if store < sent_at else received_at)
        self._log_offset()
        return True

    def _log_offset(self) -> None:
        """Log the correction once, and again when it has changed by a second: each renewal may adjust it a little."""
        if abs(self.offset - self._logged_offset) < LOG_THRESHOLD:
            return
        self._logged_offset = self.offset
        if abs(self.offset) >= LOG_THRESHOLD:
            LOG.warning(
                "this machine's clock differs from the store's, and is corrected by %+.3f s",
                self.offset.total_seconds(),
            )
