"""Store wrapper that stops a worker at a chosen point, so that a kill hits exactly there."""

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
from tests.faults.testbed import POLL_SECONDS, Testbed
from tests.faults.worker_config import Point

_P = ParamSpec("_P")


class StoppingStore:
    """Delegates to the real store; reports each settlement that the store refused as stale."""

    def __init__(self, store: FullStore, testbed: Testbed, point: Point | None, report: Callable[[str], None]) -> None:
        self._store = store
        self.testbed = testbed
        self._point = point
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        head = await self._store.next_due() if self._point == "claiming" else None
        if head is not None and head <= now:
            await self._stop("claiming")
        claim = await self._store.claim_due(now, node, room, self._freeze_at(decide, "deciding"))
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
        stale = await self.settle_real(batch, decide)
        for run_id in sorted(stale):
            self._report(f"stale {run_id}")
        await self._stop("settled")
        return stale

    async def settle_real(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._store.settle(batch, self._freeze_at(decide, "ending"))

    def _freeze_at(self, decide: Callable[_P, Change], point: Point) -> Callable[_P, Change]:
        """Freeze the process inside `decide`: the transaction is open and holds its locks."""

        def decide_and_freeze(*arguments: _P.args, **named: _P.kwargs) -> Change:
            if self._point == point:
                self._point = None
                self._report(f"at {point}")
                os.kill(os.getpid(), signal.SIGSTOP)
            return decide(*arguments, **named)

        return decide if self._point != point else decide_and_freeze

    async def _stop(self, point: Point) -> None:
        """Report the point once, and wait for its gate if the worker is not killed there."""
        if point != self._point:
            return
        self._point = None
        self._report(f"at {point}")
        clock = SystemClock()
        while not self.testbed.gate(point).exists():
            await clock.pause(POLL_SECONDS)
