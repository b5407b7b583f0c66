"""Nodes, lanes, routes and blocked owners of the SQL stores, and the counts that an overview shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from ...model.ids import to_microseconds
from ...model.lanes.idle import yield_request_of
from ...model.lanes.lane import DEFAULT_LIMIT, LaneQueue, LaneUse
from ...model.lanes.route import is_route
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...ports.store import (
    MAX_COUNTED,
    Admission,
    CancelRequest,
    LeaseRenewal,
    Node,
    RouteQueue,
    WaitingCounts,
)
from ..claim_rules import earliest_due
from ..codec.json_codecs import decode, instant_of
from ..codec.rows import Row, decode_node, encode_node
from .claims.lane_rates import read_rate_use
from .connection import Statements, Transactions
from .records import write_attached_records


class SQLAdministration:
    _database: Transactions

    async def admit(self, routes: Collection[str]) -> Admission:
        names = sorted(routes) or [""]
        ((has_parked, has_queued),) = await self._database.query("waiting_for_nodes", names)
        unparked = 0
        if has_parked:
            unparked = len(await self._database.transact(lambda connection: connection.query("unpark_routes", names)))
        rows = await self._database.query("route_queues") if has_queued else []
        return Admission(unparked, tuple(sorted(RouteQueue(name, instant_of[due]) for name, due in rows)))

    async def join(self, node: Node) -> None:
        await self._database.run_statement(lambda connection: connection.query("join", *encode_node(node)))

    async def leave(self, node: str) -> None:
        await self._database.run_statement(lambda connection: connection.query("leave", node))

    async def nodes(self) -> tuple[Node, ...]:
        return tuple(decode_node(row) for row in await self._database.query("all_nodes"))

    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        async def work(connection: Statements) -> bool:
            if not await connection.query("lock_node", node):
                return False
            await connection.query("drain", int(draining), node)
            await write_attached_records(connection, attached_records)
            return True

        return await self._database.transact(work)

    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        async def work(connection: Statements) -> None:
            if reason is None:
                await connection.query("unblock_owner", owner)
            else:
                await connection.query("block_owner", owner, reason)
            await write_attached_records(connection, attached_records)

        await (self._database.transact if attached_records else self._database.run_statement)(work)

    async def lanes(self) -> tuple[LaneUse, ...]:
        async def work(connection: Statements) -> tuple[LaneUse, ...]:
            uses = []
            for name, limit, taken, *rate in await connection.query("all_lanes"):
                use = LaneUse(name, DEFAULT_LIMIT if limit is None else limit, taken)
                uses.append(await read_rate_use(connection, use, *rate))
            return tuple(uses)

        return await self._database.read(work)

    async def lane_queues(self) -> tuple[LaneQueue, ...]:
        rows = await self._database.query("lane_queues")
        return tuple(LaneQueue(lane, count, instant_of[due]) for lane, count, due in rows if not is_route(lane))

    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        rows = await self._database.query("waiting", owner, to_microseconds(now), MAX_COUNTED)
        ((timed, ready, parked, stranded, queued),) = rows
        return WaitingCounts(min(timed + ready, MAX_COUNTED), parked, min(stranded + queued, MAX_COUNTED))

    async def output_bytes(self, owner: str) -> int:
        ((size,),) = await self._database.query("output_bytes", owner)
        return int(size)

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        return tuple(task_id for (task_id,) in await self._database.query("task_ids", prefix, owner, limit))

    async def task_names(self, task_ids: Sequence[str], owner: str | None) -> dict[str, str]:
        return dict(await self._database.query("task_names", sorted(set(task_ids)), owner)) if task_ids else {}


def build_renewal(rows: list[Row]) -> LeaseRenewal:
    """Build the result of the statement `renew_lease`, which returns no row if the node lost its lease."""
    if not rows:
        return LeaseRenewal(held=False)
    ((orders, nodes, *heads, clock, draining, yields),) = rows
    return LeaseRenewal(
        held=True,
        cancel_requests=tuple(CancelRequest(run_id, Reason(reason)) for run_id, reason in decode(orders)),
        nodes=tuple(decode_node(tuple(row)) for row in decode(nodes)),
        next_due=earliest_due(*heads),
        now=None if clock is None else instant_of[clock],
        draining=bool(draining),
        yield_requests=tuple(map(yield_request_of, decode(yields))),
    )
