"""Releaser: gives runs that this node will not finish back to the store in batches, at a stop or after a lost lease."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.recover import release
from ..ports.store import Agenda
from ..store_retry import StoreRetry
from .alarm import WakeTimer

MAX_BATCH: Final = 256
MAX_BACKOFF: Final = 0.5


class Releaser:
    def __init__(self, store: Agenda, alarm: WakeTimer, clock: Clock) -> None:
        self._store = store
        self._alarm = alarm
        self._clock = clock
        self._claims: list[tuple[str, int]] = []
        self._in_flight = 0
        self._wake = asyncio.Event()
        self._retry = StoreRetry("handing back of runs", clock, max_backoff=MAX_BACKOFF)

    def add(self, claims: Iterable[tuple[str, int]]) -> None:
        self._claims.extend(claims)
        if self._claims:
            self._wake.set()

    @property
    def pending(self) -> int:
        """Number of runs that are not released yet."""
        return len(self._claims) + self._in_flight

    async def step(self) -> int:
        """Release one batch; return its size. Tokens of runs that other nodes have taken over are stale and ignored."""
        batch, self._claims = self._claims[:MAX_BATCH], self._claims[MAX_BATCH:]
        if batch:
            self._in_flight = len(batch)
            try:
                await self._store.release(batch, partial(release, now=self._clock.now()))
            except BaseException:
                # Put back for the next step: releasing twice is harmless.
                self._claims = batch + self._claims
                raise
            finally:
                self._in_flight = 0
            self._alarm.notify()
        return len(batch)

    async def run(self) -> None:
        while True:
            try:
                await self.flush()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._retry.succeeded()
                self._wake.clear()
                await self._wake.wait()

    async def flush(self) -> None:
        while self._claims:
            await self.step()
