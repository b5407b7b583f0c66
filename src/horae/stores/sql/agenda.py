"""Agenda port of the SQL stores: claims and settlements of the engine, node leases and the next due instant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import to_microseconds
from ...model.lanes.idle import YieldReason
from ...model.outcome import Settlement
from ...ports.store import Claim, LeaseRenewal, LinkObserver
from ..claim_rules import earliest_due
from ..codec.rows import Row, duration_microseconds
from .administration import build_renewal
from .claims.claim import Claimer
from .connection import Statements, Transactions
from .settle import RunUpdater


class SQLAgenda:
    _database: Transactions
    _claimer: Claimer
    _run_updater: RunUpdater
    _on_linked: LinkObserver

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._claimer.claim(now, node, room, decide)

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        return await self._claimer.claim_queued(now, node, room, decide, sorted(queues)) if queues else Claim()

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        return await self._run_updater.start(tuple(claims), now) if claims else frozenset()

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._run_updater.settle(tuple(batch), decide) if batch else frozenset()

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._run_updater.release(tuple(claims), decide) if claims else frozenset()

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        return await self._run_updater.declare_idle(run_id, token, since)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._run_updater.recover(node, renewals, decide, limit)

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        async def work(connection: Statements) -> list[Row]:
            # A claim whose response was lost may still commit: it locks the node's row until then.
            await connection.query("lock_node", node)
            return await connection.query("live_runs_of_node", node)

        return tuple((run_id, token) for run_id, token in await self._database.transact(work))

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        values = (node, to_microseconds(now), load, duration_microseconds(offset))
        return build_renewal(
            await self._database.run_statement(lambda connection: connection.query("renew_lease", *values))
        )

    def observe_links(self, observer: LinkObserver) -> None:
        self._claimer.on_linked = self._run_updater.on_linked = self._on_linked = observer

    async def next_due(self) -> datetime | None:
        (heads,) = await self._database.query("agenda_heads")
        return earliest_due(*heads)
