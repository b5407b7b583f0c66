"""Base of senders: a loop that sends due deliveries of one endpoint, sleeps until the next one, and waits out the store."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...errors import StoreError
from ...ports.full_store import FullStore
from ...store_retry import StoreRetry

MAX_WAIT_SECONDS: Final = 30.0


class QueueSender(ABC):
    """`on_attempt` is called after each attempt with whether it succeeded."""

    def __init__(self, store: FullStore, clock: Clock, what: str) -> None:
        self.on_attempt: Callable[[bool], None] = lambda _ok: None
        self._store = store
        self._clock = clock
        self._wake_up = asyncio.Event()
        # The dispatcher logs the same outage for all endpoints.
        self._retry = StoreRetry(what, clock, level=logging.DEBUG)
        self._pending = 0
        """Deliveries that this process has written for it and that have not ended."""

    @property
    @abstractmethod
    def is_active(self) -> bool:
        """Whether deliveries are still sent."""

    @abstractmethod
    async def step(self) -> datetime | None:
        """Send the due deliveries; return when the next delivery is due."""

    def add_pending(self, number: int) -> None:
        """Count new deliveries and wake the sender."""
        self._pending += number
        self._wake_up.set()

    async def run(self) -> None:
        while self.is_active:
            self._wake_up.clear()
            try:
                next_due = await self.step()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            await self._wait(next_due)

    async def _wait(self, next_due: datetime | None) -> None:
        seconds = MAX_WAIT_SECONDS if next_due is None else (next_due - self._clock.now()).total_seconds()
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds, MAX_WAIT_SECONDS)):
                    await self._wake_up.wait()
