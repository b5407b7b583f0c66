"""Releaser: gives runs back to the store in batches: at a stop, after a lost lease, after a lost answer to a claim."""

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
from .keeper import Lease
from .runner import Runner
from .settler import Settler

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


class LostClaims:
    """The lease covers every run of its node, so a run that the node does not know would never be recovered while it lives."""

    def __init__(self, store: Agenda, lease: Lease, runner: Runner, settler: Settler, releaser: Releaser) -> None:
        self._store = store
        self._lease = lease
        self._runner = runner
        self._settler = settler
        self._releaser = releaser

    async def step(self) -> int:
        """Release unknown runs of this node; return their number.

        No claim may be in flight. A run that ends meanwhile has a stale token by then.
        """
        lost = [claim for claim in await self._store.held(self._lease.node) if not self._is_known(claim[0])]
        self._releaser.add(lost)
        return len(lost)

    def _is_known(self, run_id: str) -> bool:
        return self._runner.has_run(run_id) or self._settler.has_settlement(run_id)
