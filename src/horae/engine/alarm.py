"""Sleeps until something is due. A ring only shortens the wait; the poll ceiling is the truth."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from ..clock import Clock
from .timer import timer


class Alarm:
    """One waiter: the dispatcher. Rings may come from anywhere on its event loop."""

    def __init__(self, clock: Clock, ceiling: timedelta, *, precise: bool = True, fine: bool = False) -> None:
        self._clock = clock
        self._ceiling = ceiling.total_seconds()
        self._precise = precise
        self._fine = fine
        self._head: datetime | None = None
        self._expected: datetime | None = None
        self._looked = clock.steady()
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Something may be due sooner than thought: look now. Where polling was asked for, it is not heard."""
        if self._precise:
            self.rouse()

    def rouse(self) -> None:
        """Look now, in either way of waking: whatever kept the dispatcher from claiming is over."""
        self._rung = True
        self._wake()

    def looking(self) -> None:
        """The dispatcher is about to look: what is expected from here on, it may not have seen."""
        self._expected = None

    def looked(self, head: datetime | None) -> None:
        """The dispatcher has seen the head of the agenda, as it was at some point since `looking`."""
        self._looked = self._clock.steady()
        self._head = _earlier(head, self._expected)

    def glimpsed(self, head: datetime | None) -> None:
        """Somebody else has seen the head: as good as a poll, but it may be older than what was expected since."""
        if self._precise:
            self._looked = self._clock.steady()
            self.expect(head)

    def expect(self, due: datetime | None) -> None:
        """Something will be due then, which may be before all else."""
        self._expected = _earlier(self._expected, due)
        if due is not None and (self._head is None or due < self._head):
            self._head = due
            self._wake()

    async def wait(self) -> None:
        """Until the head is due, a ring comes, or nobody has looked for as long as the ceiling.

        Every wake looks at the wall clock again: it may have been stepped, the machine may have been suspended, and a
        loop's timer may fire a little early.
        """
        while not self._rung:
            seconds = self._left()
            if seconds <= 0:
                break
            await self._doze(seconds)
        self._rung = False

    def _left(self) -> float:
        unseen = self._ceiling - (self._clock.steady() - self._looked)
        if self._head is None or not self._precise:
            return unseen
        return min(unseen, (self._head - self._clock.now()).total_seconds())

    async def _doze(self, seconds: float) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            with timer(seconds, self._wake, fine=self._fine):
                await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
