"""Agenda port of the SQLite store: claim, start, settle, release, recover, and node leases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import to_microseconds
from ...model.outcome import Settlement
from ...ports.store import Claim, LeaseRenewal
from ..claim_rules import earliest_due
from ..codec.rows import duration_microseconds
from ..sql.administration import build_renewal
from .claim import Claimer
from .connection import sql
from .readers import Readers
from .settle import RunUpdater
from .writer import Writer

_AGENDA_HEAD: Final = sql("agenda_head")
_LIVE_RUNS_OF_NODE: Final = sql("live_runs_of_node")
_RENEW_LEASE: Final = sql("renew_lease")


class SQLiteAgenda:
    _writer: Writer
    _readers: Readers
    _claimer: Claimer
    _run_updater: RunUpdater

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        claimer = self._claimer
        return await self._writer.submit(
            lambda connection: claimer.claim(connection, now, node, room, decide),
            peek=lambda connection: claimer.peek(connection, now, node, room),
        )

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        if not claims:
            return frozenset()
        requests = tuple(claims)
        return await self._writer.submit(lambda connection: self._run_updater.start(connection, requests, now))

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        if not batch:
            return frozenset()
        requests = tuple(batch)
        return await self._writer.submit(lambda connection: self._run_updater.settle(connection, requests, decide))

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        if not claims:
            return frozenset()
        requests = tuple(claims)
        return await self._writer.submit(lambda connection: self._run_updater.release(connection, requests, decide))

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._writer.submit(
            lambda connection: self._run_updater.recover(connection, node, renewals, decide, limit)
        )

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        return tuple((run_id, token) for run_id, token in await self._readers.query(_LIVE_RUNS_OF_NODE, (node,)))

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        bindings = (node, to_microseconds(now), load, duration_microseconds(offset))
        return await self._writer.submit(
            lambda connection: build_renewal(connection.query(_RENEW_LEASE, bindings)), autocommit=True
        )

    async def next_due(self) -> datetime | None:
        ((_, timed, ready),) = await self._readers.query(_AGENDA_HEAD, {"node": ""})
        return earliest_due(timed, ready)
