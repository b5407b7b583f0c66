"""Gathers how runs ended, and commits what is ready in one write: the busier it gets, the more fits into one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.settle import settle
from ..model.change import Change, Facts
from ..model.entry import Stand
from ..model.outcome import Settlement
from ..model.run import Run
from ..ports.store import Agenda
from .alarm import Alarm

HANDFUL: Final = 256
AGAIN_SECONDS: Final = 0.5


class Settler:
    def __init__(self, store: Agenda, alarm: Alarm, clock: Clock) -> None:
        self._store = store
        self._alarm = alarm
        self._clock = clock
        self._ready: deque[Settlement] = deque()
        self._bell = asyncio.Event()
        self._busy = 0
        self.on_settled: Callable[[tuple[Settlement, ...], frozenset[str]], None] = lambda _settled, _stale: None

    @property
    def waiting(self) -> int:
        """What has ended and is not recorded yet."""
        return len(self._ready) + self._busy

    def add(self, settlement: Settlement) -> None:
        self._ready.append(settlement)
        self._bell.set()

    async def step(self) -> int:
        """One handful, one commit. What the store could not take stays, first in line: settling twice is harmless."""
        batch = tuple(self._ready.popleft() for _ in range(min(HANDFUL, len(self._ready))))
        self._busy = len(batch)
        watch = _Watch()
        try:
            stale = await self._store.settle(batch, watch.decide)
        except BaseException:
            self._ready.extendleft(reversed(batch))
            raise
        finally:
            self._busy = 0
        watch.tell(self._alarm)
        self.on_settled(batch, stale)
        return len(batch)

    async def run(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._ready:
                try:
                    await self.step()
                except StoreError:
                    await self._clock.pause(AGAIN_SECONDS)

    async def flush(self) -> None:
        """Record all that has ended; raises when the store cannot take it."""
        while self._ready:
            await self.step()


class _Watch:
    """Sees each decision as the store asks for it, so that the alarm learns what became due without another question."""

    def __init__(self) -> None:
        self._first: datetime | None = None
        self._seats = False

    def decide(self, facts: Facts, run: Run, report: Settlement) -> Change:
        change = settle(facts, run, report)
        for entry in change.put:
            if entry.stand is Stand.TIMED and (self._first is None or entry.due < self._first):
                self._first = entry.due
        self._seats = self._seats or bool(run.lanes)
        return change

    def tell(self, alarm: Alarm) -> None:
        if self._seats:
            # A freed seat lets a parked entry in, and only the store knows which.
            alarm.ring()
        alarm.expect(self._first)
