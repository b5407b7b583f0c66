"""Nodes, lanes, overview (counts by state) and doctor of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..model.accounts.principal import Principal
from ..model.lanes.lane import LaneStatus, LaneUse
from ..model.lanes.rate import RateChange
from ..ports.doctor import DoctorReport
from ..ports.store import Node
from ..service.runs.lanes import LaneDetail
from ..service.runs.nodes import NodeStatus
from ..service.runs.overview import Overview
from ..wire.doctor import read_report
from ..wire.lanes import read_lane_detail, read_lane_status
from ..wire.overview import read_lane, read_node, read_node_seen, read_overview
from .connection import Connection, QueryParameters, path_segment
from .decode import decode_response, system_parameter

T = TypeVar("T")


class RemoteOverviews:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def now(self, principal: Principal) -> Overview:
        response = await self._connection.get("/v1/overview", system_parameter(principal))
        return await decode_response(self._connection, read_overview, response)


class RemoteLanes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, principal: Principal) -> tuple[LaneUse, ...]:
        del principal
        return await _fetch_all(self._connection, "/v1/lanes", read_lane)

    async def statuses(self, principal: Principal) -> tuple[LaneStatus, ...]:
        del principal
        return await _fetch_all(self._connection, "/v1/lanes", read_lane_status)

    async def show(self, principal: Principal, name: str, limit: int = 50) -> LaneDetail:
        del principal
        response = await self._connection.get(f"/v1/lanes/{path_segment(name)}", [("limit", str(limit))])
        return await decode_response(self._connection, read_lane_detail, response)

    async def limit(
        self, principal: Principal, name: str, limit: int | None = None, *, rate: RateChange | str = "keep"
    ) -> LaneUse:
        del principal
        body: dict[str, Any] = {} if limit is None else {"limit": limit}
        if rate != "keep":
            body["rate"] = None if rate is None else str(rate)
        response = await self._connection.put(f"/v1/lanes/{path_segment(name)}", body)
        return await decode_response(self._connection, read_lane, response)


class RemoteNodes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(
        self, principal: Principal, is_gone: Callable[[str], bool] = lambda _home: False
    ) -> tuple[NodeStatus, ...]:
        """List the nodes. `is_gone` is ignored: only the server can see that a process on its machine has died."""
        del principal, is_gone
        return await _fetch_all(self._connection, "/v1/nodes", read_node_seen)

    async def drain(self, principal: Principal, name: str, *, draining: bool = True) -> Node:
        del principal
        (node,) = await self._drain(name, draining=draining)
        return node

    async def drain_host(self, principal: Principal, host: str, *, draining: bool = True) -> tuple[Node, ...]:
        del principal
        return await self._drain(host, [("host", "true")], draining=draining)

    async def _drain(self, name: str, query: QueryParameters = (), *, draining: bool) -> tuple[Node, ...]:
        response = await self._connection.post(f"/v1/nodes/{path_segment(name)}/drain", {"draining": draining}, query)
        return await decode_response(self._connection, lambda each: tuple(map(read_node, each["items"])), response)


async def _fetch_all(connection: Connection, path: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Read a list that the server does not paginate."""
    response = await connection.get(path)
    return await decode_response(connection, lambda each: tuple(map(read, each["items"])), response)


class RemoteDoctor:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def report(self, principal: Principal) -> DoctorReport:
        """Return the report; its sentences are in the language of the connection."""
        del principal
        return await decode_response(self._connection, read_report, await self._connection.get("/v1/doctor"))

    async def durability(self, principal: Principal) -> DoctorReport:
        """Return only what the server of the store can lose."""
        del principal
        response = await self._connection.get("/v1/doctor", (("only", "durability"),))
        return await decode_response(self._connection, read_report, response)
