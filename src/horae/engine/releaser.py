"""Hands back what this node holds and will not carry to its end: at a stop, or after it had to let go of everything."""

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
from .alarm import Alarm

HANDFUL: Final = 256
LONGEST_PAUSE: Final = 0.5


class Releaser:
    def __init__(self, store: Agenda, alarm: Alarm, clock: Clock) -> None:
        self._store = store
        self._alarm = alarm
        self._clock = clock
        self._claims: list[tuple[str, int]] = []
        self._taken = 0
        self._bell = asyncio.Event()
        self._retry = StoreRetry("handing back of runs", clock, longest=LONGEST_PAUSE)

    def add(self, claims: Iterable[tuple[str, int]]) -> None:
        self._claims.extend(claims)
        if self._claims:
            self._bell.set()

    @property
    def waiting(self) -> int:
        """What is to be handed back, and is not yet."""
        return len(self._claims) + self._taken

    async def step(self) -> int:
        """One handful. What others have taken over meanwhile is stale, and that is as good."""
        batch, self._claims = self._claims[:HANDFUL], self._claims[HANDFUL:]
        if batch:
            self._taken = len(batch)
            try:
                await self._store.release(batch, partial(release, now=self._clock.now()))
            except BaseException:
                # Whoever takes its place finds it again: to hand back twice is harmless.
                self._claims = batch + self._claims
                raise
            finally:
                self._taken = 0
            self._alarm.ring()
        return len(batch)

    async def run(self) -> None:
        while True:
            try:
                await self.flush()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._retry.succeeded()
                self._bell.clear()
                await self._bell.wait()

    async def flush(self) -> None:
        while self._claims:
            await self.step()
