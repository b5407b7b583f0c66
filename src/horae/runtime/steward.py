"""What a serving process looks after by itself: the audit trail is sealed, and runs per day are counted."""

from __future__ import annotations

import logging
from typing import Final

from ..clock import Clock
from ..errors import HoraeError
from ..service.service import Service

LOG: Final = logging.getLogger("horae")
_EVERY: Final = 0.5
"""Seconds: what was done is sealed within one."""
_COUNTED_EVERY: Final = 60.0


class Steward:
    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock
        self._counted = -_COUNTED_EVERY

    async def step(self) -> None:
        await self._service.audit.seal()
        now = self._clock.steady()
        if now - self._counted >= _COUNTED_EVERY:
            self._counted = now
            await self._service.daily.enforce(self._clock.now())

    async def run(self) -> None:
        """Until it is cancelled; what fails is tried again."""
        while True:
            try:
                await self.step()
            except HoraeError as error:
                LOG.warning("the audit trail waits to be sealed: %s", error)
            await self._clock.pause(_EVERY)
