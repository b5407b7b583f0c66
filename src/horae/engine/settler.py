"""Gathers how runs ended, and commits what is ready in one write: the busier it gets, the more fits into one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from itertools import chain
from typing import Final

from ..clock import Clock
from ..errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from ..lifecycle.settle import settle
from ..model.change import Change, Facts
from ..model.entry import Stand
from ..model.limits import ERROR_CHARACTERS, shortened
from ..model.outcome import Failed, Settlement
from ..model.run import Run
from ..ports.store import Agenda
from ..store_retry import StoreRetry
from .alarm import Alarm
from .fair_queue import FairQueue, Queued

HANDFUL: Final = 256
LONGEST_PAUSE: Final = 0.5
AWAY: Final = (StoreUnavailable, StoreFull, StoreDamaged)
"""The same may succeed later. Any other error of a store is about what it was given, and will come again."""
LOG: Final = logging.getLogger("horae")


class Settler:
    """Two hands: the second helps while what is ready fills more than one. So a write is prepared while another one is
    on its way, and where little happens, all that is ready still goes into one."""

    def __init__(self, store: Agenda, alarm: Alarm, clock: Clock) -> None:
        self._store = store
        self._alarm = alarm
        self._clock = clock
        self._ready = FairQueue()
        self._bell = asyncio.Event()
        self._retry = StoreRetry("settling of ended runs", clock, longest=LONGEST_PAUSE)
        self._hands: list[deque[Queued]] = []
        """What is being recorded, one for each write that is on its way."""
        self.on_settled: Callable[[Collection[str]], None] = lambda _tasks: None
        """Called after each commit, with the tasks of which something has ended."""
        self.on_recorded: Callable[[Iterable[tuple[str, datetime]], datetime], None] = lambda _ended, _at: None
        """Called after each commit, with owner and end of each run that it recorded, and the time of the commit."""

    @property
    def waiting(self) -> int:
        """What has ended and is not recorded yet."""
        return len(self._ready) + sum(map(len, self._hands))

    def add(self, settlement: Settlement, owner: str = "") -> None:
        """`owner` is whose run it was: batches take owners in turn."""
        self._ready.add(Queued(owner, settlement))
        self._bell.set()

    def holds(self, run_id: str) -> bool:
        """Whether its end waits here to be recorded."""
        return any(each.settlement.run_id == run_id for each in chain(*self._hands, self._ready))

    async def step(self) -> int:
        """One handful, one commit. What the store could not take stays, first in line: settling twice is harmless."""
        hand = self._ready.take(HANDFUL)
        size = len(hand)
        self._hands.append(hand)
        try:
            await self._record(hand, tuple([each.settlement for each in hand]))
        except AWAY:
            raise
        except Exception:
            # One report that cannot be recorded must not keep the others from it.
            LOG.exception("%d runs that ended could not be recorded together; one by one now", size)
            await self._record_singly(hand)
        finally:
            self._hands = [each for each in self._hands if each is not hand]
            self._ready.put_back(hand)
        return size

    async def _record(self, hand: deque[Queued], batch: tuple[Settlement, ...]) -> None:
        """The first of those in a hand, which holds none of them any more when this returns."""
        watch = _Watch()
        try:
            stale = await self._store.settle(batch, watch.decide)
        finally:
            # Also when it failed: the answer may be all that got lost.
            watch.tell(self._alarm)
        recorded = [(hand.popleft().owner, settlement) for settlement in batch]
        self.on_recorded(
            [(owner, settlement.ended) for owner, settlement in recorded if settlement.run_id not in stale],
            self._clock.now(),
        )
        self.on_settled(watch.tasks)

    async def _record_singly(self, hand: deque[Queued]) -> None:
        while hand:
            try:
                await self._record(hand, (hand[0].settlement,))
            except AWAY:
                raise
            except Exception as error:
                LOG.exception(
                    "the end of the run %s cannot be recorded as it is: it has failed instead",
                    hand[0].settlement.run_id,
                )
                await self._record_failure(hand, error)

    async def _record_failure(self, hand: deque[Queued], error: Exception) -> None:
        told = shortened(f"its end could not be recorded: {type(error).__name__}: {error}", ERROR_CHARACTERS)
        plain = told.encode(errors="backslashreplace").decode()
        try:
            await self._record(hand, (hand[0].settlement._replace(outcome=Failed(plain)),))
        except AWAY:
            raise
        except Exception:
            LOG.exception("the run %s cannot be ended at all, and is left as it is", hand[0].settlement.run_id)
            hand.popleft()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as hands:
            hands.create_task(self._go_on(1))
            hands.create_task(self._go_on(HANDFUL))

    async def _go_on(self, least: int) -> None:
        """Record whenever at least so many are ready."""
        while True:
            try:
                while len(self._ready) >= least:
                    await self.step()
                    self._retry.succeeded()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._bell.clear()
                await self._bell.wait()

    async def flush(self) -> None:
        """Record all that has ended; raises when the store cannot take it."""
        while self._ready:
            await self.step()


class _Watch:
    """Sees each decision as the store asks for it, so that the alarm learns what became due without another question."""

    def __init__(self) -> None:
        self._first: datetime | None = None
        self._seats = False
        self.tasks: set[str] = set()

    def decide(self, facts: Facts, run: Run, report: Settlement) -> Change:
        change = settle(facts, run, report)
        for entry in change.put:
            if entry.stand is Stand.TIMED and (self._first is None or entry.due < self._first):
                self._first = entry.due
        self._seats = self._seats or bool(run.lanes)
        self.tasks.add(run.task_id)
        return change

    def tell(self, alarm: Alarm) -> None:
        if self._seats:
            # A freed seat lets a parked entry in, and only the store knows which.
            alarm.ring()
        alarm.expect(self._first)
