"""Holds the node's lease: renews it, stops what it can no longer hold, and recovers what dead nodes have left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.recover import recover
from ..ports.store import Agenda, Extension, Node, Order, Terms
from .home import is_gone
from .lease import Lease

HANDFUL: Final = 256
SOON_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Signals:
    """What the keeper tells the rest of the engine; called wherever the keeper runs."""

    orders: Callable[[tuple[Order, ...]], None]
    lost: Callable[[], None]
    looked: Callable[[datetime | None], None]
    recovered: Callable[[], None]


class Keeper:
    """One per node. It watches other nodes' renewals stand still on its own steady clock: no wall clock expires anybody."""

    def __init__(
        self, store: Agenda, lease: Lease, clock: Clock, terms: Terms, signals: Signals, new_node: Callable[[], Node]
    ) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._terms = terms
        self._signals = signals
        self._new_node = new_node
        self._seen: dict[str, tuple[int, float]] = {}
        self._bell = asyncio.Event()
        self._next_renewal = 0.0

    async def join(self) -> None:
        """A new name for each stay: what an old one still holds is recovered like anybody else's."""
        node = self._new_node()
        asked = self._clock.steady()
        await self._store.join(node)
        self._lease.node = node.id
        self._lease.renewed(asked)
        self._next_renewal = asked

    def ring(self) -> None:
        """Look now: a run may have been cancelled."""
        self._next_renewal = 0.0
        self._bell.set()

    async def step(self) -> None:
        """Renew if it is time, then look after the nodes that stand still."""
        if self._clock.steady() >= self._next_renewal:
            await self._renew()
        for node, (renewals, since) in tuple(self._seen.items()):
            if self._clock.steady() - since >= self._terms.lease.total_seconds():
                await self._recover(node, renewals)

    async def run(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self.step(), max(self._lease.left, SOON_SECONDS))
            except (StoreError, TimeoutError):
                # An answer that comes too late is none; what matters is whether the lease still holds.
                self._next_renewal = self._clock.steady() + SOON_SECONDS
            if not self._lease.held:
                self._signals.lost()
            await self._doze()

    async def _renew(self) -> None:
        asked = self._clock.steady()
        extension = await self._store.extend(self._lease.node, self._clock.now())
        self._next_renewal = asked + self._terms.renewal.total_seconds()
        if not extension.held:
            # Others took this node for dead, so nothing that it carries is its own any more.
            self._lease.lost()
            self._signals.lost()
            await self.join()
            return
        if not self._lease.held:
            self._signals.lost()
        self._lease.renewed(asked)
        await self._heed(extension)

    async def _heed(self, extension: Extension) -> None:
        if extension.orders:
            self._signals.orders(extension.orders)
        self._signals.looked(extension.next_due)
        steady = self._clock.steady()
        known, self._seen = self._seen, {}
        for node in extension.nodes:
            before = known.get(node.id)
            still = before is not None and before[0] == node.renewals
            self._seen[node.id] = before if before is not None and still else (node.renewals, steady)
            if is_gone(node.home):
                await self._recover(node.id, node.renewals)

    async def _recover(self, node: str, renewals: int) -> None:
        """End its runs, a handful at a time; somebody else may be faster, and that is as good."""
        decide = partial(recover, now=self._clock.now())
        while await self._store.recover(node, renewals, decide, HANDFUL) == HANDFUL:
            pass
        self._seen.pop(node, None)
        self._signals.recovered()

    async def _doze(self) -> None:
        """Until the next renewal, or until a node has stood still for the whole lease, or a ring."""
        lease = self._terms.lease.total_seconds()
        wake = min([self._next_renewal, *(since + lease for _, since in self._seen.values())])
        seconds = wake - self._clock.steady()
        if self._lease.held:
            seconds = min(seconds, self._lease.left)
        self._bell.clear()
        if seconds <= 0:
            return
        timer = asyncio.get_running_loop().call_later(seconds, self._bell.set)
        await self._bell.wait()
        timer.cancel()
