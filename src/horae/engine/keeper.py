"""Holds the node's lease: renews it, stops what it can no longer hold, and recovers what dead nodes have left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ..errors import StoreError
from ..lifecycle.recover import recover
from ..ports.store import Agenda, Extension, Node, Order, Terms
from ..store_retry import StoreRetry
from .clock_follower import NOTEWORTHY
from .lease import Lease
from .store_clock import CorrectedClock

HANDFUL: Final = 256
SOON_SECONDS: Final = 0.5
"""So long after a failure it is tried again, or sooner where the lease is short."""
BREATH_SECONDS: Final = 0.05
"""However often it rings, renewals come no closer than this: each of them is a write."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What the keeper tells the rest of the engine; called wherever the keeper runs."""

    orders: Callable[[tuple[Order, ...]], None]
    lost: Callable[[], None]
    looked: Callable[[datetime | None], None]
    recovered: Callable[[], None]
    company: Callable[[bool], None] = lambda _others: None
    """Whether any other node holds a lease."""
    set_back: Callable[[timedelta], None] = lambda _by: None
    """The wall clock went back by so much since the last renewal."""
    draining: Callable[[bool], None] = lambda _draining: None
    """Whether somebody wants this node to claim nothing more; told when that changes."""


class Keeper:
    """One per node. It watches other nodes' renewals stand still on its own steady clock: no wall clock expires anybody."""

    def __init__(  # noqa: PLR0913 - its tools, each with one purpose
        self,
        store: Agenda,
        lease: Lease,
        clock: CorrectedClock,
        terms: Terms,
        signals: Signals,
        *,
        new_node: Callable[[], Node],
        is_gone: Callable[[str], bool],
        load: Callable[[], int] = lambda: 0,
    ) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._terms = terms
        self._signals = signals
        self._new_node = new_node
        self._is_gone = is_gone
        self._load = load
        self._retry = StoreRetry("lease renewal", clock)
        self._draining = False
        self._seen: dict[str, tuple[int, float]] = {}
        self._in_company = False
        self._clocks: tuple[datetime, float] | None = None
        self._bell = asyncio.Event()
        self._rung = False
        self._asked = float("-inf")
        self._next_renewal = 0.0
        self._not_before = float("-inf")
        self._soon = min(SOON_SECONDS, terms.renewal.total_seconds() / 4)

    async def join(self) -> None:
        """A new name for each stay: what an old one still holds is recovered like anybody else's. Who was to go still is."""
        node = self._new_node()._replace(draining=self._draining)
        asked = self._clock.steady()
        await self._store.join(node)
        self._lease.node = node.id
        self._lease.renewed(asked)
        self._next_renewal = asked

    def ring(self) -> None:
        """Look now: a run may have been cancelled."""
        self._rung = True
        self._bell.set()

    async def step(self) -> None:
        """Renew if it is time, then look after the nodes that stand still."""
        if self._clock.steady() >= self._renewal_at:
            await self._renew()
        lease = self._terms.lease.total_seconds()
        for node, (renewals, since) in tuple(self._seen.items()):
            if self._clock.steady() >= since + lease:
                await self._recover(node, renewals)

    async def run(self) -> None:
        while True:
            try:
                # Not `wait_for`: before Python 3.12 it may swallow a cancellation, and the keeper would outlive its node.
                async with asyncio.timeout(self._patience()):
                    await self.step()
            except (StoreError, TimeoutError) as error:
                # An answer that comes too late is none; what matters is whether the lease still holds.
                self._retry.failed(error)
                self._next_renewal = self._not_before = self._clock.steady() + self._soon
            if not self._lease.held:
                self._signals.lost()
            await self._doze()

    @property
    def _renewal_at(self) -> float:
        return min(self._next_renewal, self._asked + BREATH_SECONDS) if self._rung else self._next_renewal

    def _patience(self) -> float:
        """A store that hangs is waited for until the lease is lost; after that, for as long as a renewal may well take."""
        return self._lease.left if self._lease.held else self._terms.renewal.total_seconds()

    async def _renew(self) -> None:
        self._rung = False
        asked = self._asked = self._clock.steady()
        at = self._clock.now()
        extension = await self._store.extend(self._lease.node, at, self._load(), self._clock.offset)
        self._retry.succeeded()
        if extension.now is not None and self._clock.compare(at, extension.now, self._clock.now()):
            # Whoever sleeps until an instant has to look again how far away that is.
            self._signals.recovered()
        self._compare_clocks()
        self._next_renewal = asked + self._terms.renewal.total_seconds()
        if not extension.held:
            # Others took this node for dead, so nothing that it carries is its own any more.
            self._lease.lost()
            self._signals.lost()
            await self.join()
            return
        if not self._lease.held:
            self._signals.lost()
            # Whatever kept this node from renewing may have kept the others from it too: they get their time anew.
            self._seen.clear()
        self._lease.renewed(asked)
        self._heed(extension)

    def _compare_clocks(self) -> None:
        """The corrected wall clock against the steady one, from renewal to renewal."""
        wall, steady = self._clock.now(), self._clock.steady()
        if self._clocks is not None:
            passed = timedelta(seconds=steady - self._clocks[1])
            back = self._clocks[0] + passed - wall
            if back >= NOTEWORTHY:
                self._signals.set_back(back)
        self._clocks = wall, steady

    def _heed(self, extension: Extension) -> None:
        if extension.orders:
            self._signals.orders(extension.orders)
        if extension.draining is not self._draining:
            self._draining = extension.draining
            self._signals.draining(self._draining)
        self._signals.looked(extension.next_due)
        if bool(extension.nodes) is not self._in_company:
            self._in_company = bool(extension.nodes)
            self._signals.company(self._in_company)
        steady = self._clock.steady()
        known, self._seen = self._seen, {}
        for node in extension.nodes:
            before = known.get(node.id)
            if self._is_gone(node.home):
                self._seen[node.id] = (node.renewals, float("-inf"))
            elif before is None or before[0] != node.renewals:
                self._seen[node.id] = (node.renewals, steady - self._age(node))
            else:
                self._seen[node.id] = before

    def _age(self, node: Node) -> float:
        """Seconds since it renewed, when that is seen for the first time. Whatever a clock says, it is no more than the
        time between two renewals: so much earlier than the lease ends, a node that is cut off has stopped by itself."""
        age = (self._clock.now() - node.renewed).total_seconds()
        return min(max(age, 0.0), self._terms.renewal.total_seconds())

    async def _recover(self, node: str, renewals: int) -> None:
        """End its runs, a handful at a time; somebody else may be faster, and that is as good.

        However many there are, the next renewal does not wait for them: the rest comes after it.
        """
        decide = partial(recover, now=self._clock.now())
        while await self._store.recover(node, renewals, decide, HANDFUL) == HANDFUL:
            self._signals.recovered()
            if self._clock.steady() >= self._next_renewal:
                return
        self._seen.pop(node, None)
        self._signals.recovered()

    async def _doze(self) -> None:
        """Until the next renewal, or until a node has stood still for the whole lease, or the own lease is lost."""
        held = self._lease.held
        while (seconds := self._until_next()) > 0 and self._lease.held is held:
            self._bell.clear()
            timer = asyncio.get_running_loop().call_later(seconds, self._bell.set)
            try:
                await self._bell.wait()
            finally:
                timer.cancel()

    def _until_next(self) -> float:
        lease = self._terms.lease.total_seconds()
        wake = min([self._renewal_at, *(since + lease for _, since in self._seen.values())])
        seconds = max(wake, self._not_before) - self._clock.steady()
        return min(seconds, self._lease.left) if self._lease.held else seconds
