"""A store that stops at one point of a worker's life, so that a kill comes exactly there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from horae.clock import SystemClock
from horae.model.change import FireDecision, SettleDecision
from horae.model.outcome import Settlement
from horae.ports.store import Claim
from horae.runtime import Keeping
from tests.faults.orders import Point
from tests.faults.place import LOOK_SECONDS, Place


class StoppingStore:
    """Everything is the real store's; what a stale settlement was answered with is told."""

    def __init__(self, store: Keeping, place: Place, point: Point | None, say: Callable[[str], None]) -> None:
        self._store = store
        self._place = place
        self._point = point
        self._say = say

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        head = await self._store.next_due() if self._point == "claiming" else None
        if head is not None and head <= now:
            await self._stop("claiming")
        claim = await self._store.claim_due(now, node, room, decide)
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
        stale = await self._store.settle(batch, decide)
        for run_id in sorted(stale):
            self._say(f"stale {run_id}")
        await self._stop("settled")
        return stale

    async def _stop(self, point: Point) -> None:
        """Once. The gate is for those that are not killed here."""
        if point != self._point:
            return
        self._point = None
        self._say(f"at {point}")
        clock = SystemClock()
        while not self._place.gate(point).exists():
            await clock.pause(LOOK_SECONDS)
