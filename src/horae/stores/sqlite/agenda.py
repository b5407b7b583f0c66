"""Agenda port of the SQLite store: claim, start, settle, release, recover, and node leases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import to_microseconds
from ...model.outcome import Settlement
from ...model.reason import Reason
from ...ports.store import CancelRequest, Claim, LeaseRenewal, Node
from ..codec.json_codecs import decode, instant_of
from ..codec.rows import decode_node, duration_microseconds, encode_node
from .claim import Claimer
from .connection import SqliteConnection, sql
from .load_facts import bind_names
from .readers import Readers
from .settle import RunUpdater
from .writer import Writer

_AGENDA_HEAD: Final = sql("agenda_head")
_HAS_PARKED_ENTRIES: Final = sql("has_entries_parked_at_routes")
_UNPARK_ROUTES: Final = sql("unpark_routes")
_LIVE_RUNS_OF_NODE: Final = sql("live_runs_of_node")
_JOIN: Final = sql("join")
_RENEW_LEASE: Final = sql("renew_lease")
_LEAVE: Final = sql("leave")


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

    async def admit(self, routes: Collection[str]) -> int:
        if not routes:
            return 0
        route_names = bind_names(sorted(routes))
        ((has_parked,),) = await self._readers.query(_HAS_PARKED_ENTRIES, (route_names,))
        if not has_parked:
            return 0

        def work(connection: SqliteConnection) -> int:
            connection.query(_UNPARK_ROUTES, (route_names,))
            return connection.changed_rows

        return await self._writer.submit(work)

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        return tuple((run_id, token) for run_id, token in await self._readers.query(_LIVE_RUNS_OF_NODE, (node,)))

    async def join(self, node: Node) -> None:
        row = encode_node(node)
        await self._writer.submit(lambda connection: connection.query(_JOIN, row))

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        bindings = {"node": node, "now": to_microseconds(now), "load": load, "offset": duration_microseconds(offset)}
        return await self._writer.submit(lambda connection: _extend(connection, bindings), autocommit=True)

    async def leave(self, node: str) -> None:
        await self._writer.submit(lambda connection: connection.query(_LEAVE, {"node": node}))

    async def next_due(self) -> datetime | None:
        ((_, timed, ready),) = await self._readers.query(_AGENDA_HEAD, {"node": ""})
        return _earliest(timed, ready)


def _earliest(timed: int | None, ready: int | None) -> datetime | None:
    heads = [due for due in (timed, ready) if due is not None]
    return instant_of[min(heads)] if heads else None


def _extend(connection: SqliteConnection, bindings: dict[str, object]) -> LeaseRenewal:
    rows = connection.query(_RENEW_LEASE, bindings)
    if not rows:
        return LeaseRenewal(held=False)
    ((draining, orders, nodes, timed, ready),) = rows
    return LeaseRenewal(
        held=True,
        cancel_requests=tuple(CancelRequest(run_id, Reason(reason)) for run_id, reason in decode(orders)),
        nodes=tuple(decode_node(row) for row in decode(nodes)),
        next_due=_earliest(timed, ready),
        draining=bool(draining),
    )
