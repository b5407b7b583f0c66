"""Background loop of a serving process: quotas of runs per day and of stored bytes are enforced about once a minute."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from ..service.service import Service
from ..store_retry import StoreRetry, repeat

_EVERY: Final = 60.0


class QuotaEnforcer:
    """Apart from the sealing of the audit trail, which must not wait while the bytes of many owners are measured."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def step(self) -> float:
        """Enforce once; the seconds until the next time."""
        await self._service.daily.enforce(self._clock.now())
        return _EVERY

    async def run(self) -> None:
        """Until it is cancelled; an enforcement that fails is tried again."""
        await repeat(self.step, StoreRetry("enforcement of quotas", self._clock), self._clock)
