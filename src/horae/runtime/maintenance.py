"""Background loop of a serving process: the audit trail is sealed."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from ..service.service import Service
from ..store_retry import StoreRetry, repeat

_EVERY: Final = 0.5
"""Seconds: what was done is sealed within one."""


class Steward:
    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def step(self) -> float:
        """The seconds until the next one."""
        await self._service.audit.seal()
        return _EVERY

    async def run(self) -> None:
        """Until it is cancelled; what fails is tried again."""
        await repeat(self.step, StoreRetry("sealing of the audit trail", self._clock), self._clock)
