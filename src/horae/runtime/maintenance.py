"""What a serving process looks after by itself: the audit trail is sealed, and runs per day are counted."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from ..service.service import Service
from ..store_retry import StoreRetry, repeat

_EVERY: Final = 0.5
"""Seconds: what was done is sealed within one."""
_COUNTED_EVERY: Final = 60.0


class Steward:
    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock
        self._counted = -_COUNTED_EVERY

    async def step(self) -> float:
        """The seconds until the next one."""
        await self._service.audit.seal()
        now = self._clock.steady()
        if now - self._counted >= _COUNTED_EVERY:
            self._counted = now
            await self._service.daily.enforce(self._clock.now())
        return _EVERY

    async def run(self) -> None:
        """Until it is cancelled; what fails is tried again."""
        await repeat(self.step, StoreRetry("sealing of the audit trail", self._clock), self._clock)
