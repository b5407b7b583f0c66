"""Background loops of a serving process: one seals the audit trail, one enforces quotas."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from ..service.service import Service
from ..store_retry import StoreRetry, repeat_with_backoff

_SEAL_INTERVAL: Final = 0.5
"""Seconds. Audit rows are sealed within one second."""
_QUOTA_INTERVAL: Final = 60.0


class AuditSealer:
    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def step(self) -> float:
        """Seal once; return the seconds until the next time."""
        await self._service.audit.seal()
        return _SEAL_INTERVAL

    async def run(self) -> None:
        """Seal until cancelled; retry after store errors."""
        await repeat_with_backoff(self.step, StoreRetry("sealing of the audit trail", self._clock), self._clock)


class QuotaEnforcer:
    """Enforces quotas in a loop of its own: measuring the bytes of many owners must not delay the audit sealing."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def step(self) -> float:
        """Enforce once; return the seconds until the next time."""
        await self._service.daily_quota.enforce(self._clock.now())
        return _QUOTA_INTERVAL

    async def run(self) -> None:
        """Enforce until cancelled; retry after store errors."""
        await repeat_with_backoff(self.step, StoreRetry("enforcement of quotas", self._clock), self._clock)
