"""A store that stops at one point of a worker's life, so that a kill comes exactly there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ParamSpec

from horae.clock import SystemClock
from horae.model.change import Change, FireDecision, SettleDecision
from horae.model.outcome import Settlement
from horae.ports.full_store import FullStore
from horae.ports.store import Claim
from tests.faults.orders import Point
from tests.faults.place import LOOK_SECONDS, Place

_P = ParamSpec("_P")


class StoppingStore:
    """Everything is the real store's; what a stale settlement was answered with is told."""

    def __init__(self, store: FullStore, place: Place, point: Point | None, say: Callable[[str], None]) -> None:
        self._store = store
        self.place = place
        self._point = point
        self._say = say

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        head = await self._store.next_due() if self._point == "claiming" else None
        if head is not None and head <= now:
            await self._stop("claiming")
        claim = await self._store.claim_due(now, node, room, self._freezing(decide, "deciding"))
        if claim.runs:
            await self._stop("claimed")
        return claim

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        await self._stop("starting")
        may = await self._store.start(claims, now)
        await self._stop("started")
        return may

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        await self._stop("settling")
        stale = await self.settle_at_last(batch, decide)
        for run_id in sorted(stale):
            self._say(f"stale {run_id}")
        await self._stop("settled")
        return stale

    async def settle_at_last(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._store.settle(batch, self._freezing(decide, "ending"))

    def _freezing(self, decide: Callable[_P, Change], point: Point) -> Callable[_P, Change]:
        """Whoever decides is in the middle of a transaction, and holds what it has locked."""

        def decide_and_freeze(*arguments: _P.args, **named: _P.kwargs) -> Change:
            if self._point == point:
                self._point = None
                self._say(f"at {point}")
                os.kill(os.getpid(), signal.SIGSTOP)
            return decide(*arguments, **named)

        return decide if self._point != point else decide_and_freeze

    async def _stop(self, point: Point) -> None:
        """Once. The gate is for those that are not killed here."""
        if point != self._point:
            return
        self._point = None
        self._say(f"at {point}")
        clock = SystemClock()
        while not self.place.gate(point).exists():
            await clock.pause(LOOK_SECONDS)
