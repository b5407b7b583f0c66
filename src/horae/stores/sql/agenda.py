"""Agenda port on a database server: claims and settlements of the engine, node leases and the next due instant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import to_microseconds
from ...model.outcome import Settlement
from ...model.reason import Reason
from ...ports.store import CancelRequest, Claim, LeaseRenewal, Node
from ..codec.json_codecs import decode, instant_of
from ..codec.rows import Row, decode_node, duration_microseconds, encode_node
from .claim import Claimer
from .connection import Connection
from .settle import RunUpdater
from .transactions import Session


class SQLAgenda:
    _session: Session
    _claimer: Claimer
    _run_updater: RunUpdater

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._claimer.claim(now, node, room, decide)

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        return await self._run_updater.start(tuple(claims), now) if claims else frozenset()

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._run_updater.settle(tuple(batch), decide) if batch else frozenset()

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._run_updater.release(tuple(claims), decide) if claims else frozenset()

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._run_updater.recover(node, renewals, decide, limit)

    async def admit(self, routes: Collection[str]) -> int:
        if not routes:
            return 0
        waiting_routes = sorted(routes)
        ((has_parked,),) = await self._session.query("has_entries_parked_at_routes", waiting_routes)
        if not has_parked:
            return 0
        return await self._session.transact(lambda connection: _admit(connection, waiting_routes))

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        async def work(connection: Connection) -> list[Row]:
            # A claim whose response was lost may still commit: it locks the node's row until then.
            await connection.query("lock_node", node)
            return await connection.query("live_runs_of_node", node)

        return tuple((run_id, token) for run_id, token in await self._session.transact(work))

    async def join(self, node: Node) -> None:
        await self._session.query("join", *encode_node(node))

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        rows = await self._session.query("renew_lease", node, to_microseconds(now), load, duration_microseconds(offset))
        if not rows:
            return LeaseRenewal(held=False)
        ((orders, nodes, timed, ready, clock, draining),) = rows
        heads = [due for due in (timed, ready) if due is not None]
        return LeaseRenewal(
            held=True,
            cancel_requests=tuple(CancelRequest(run_id, Reason(reason)) for run_id, reason in decode(orders)),
            nodes=tuple(decode_node(tuple(row)) for row in decode(nodes)),
            next_due=instant_of[min(heads)] if heads else None,
            now=instant_of[clock],
            draining=bool(draining),
        )

    async def leave(self, node: str) -> None:
        await self._session.query("leave", node)

    async def next_due(self) -> datetime | None:
        ((timed, ready),) = await self._session.query("agenda_heads")
        heads = [due for due in (timed, ready) if due is not None]
        return instant_of[min(heads)] if heads else None


async def _admit(connection: Connection, waiting_routes: list[str]) -> int:
    return len(await connection.query("unpark_routes", waiting_routes))
