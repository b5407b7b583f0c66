"""Overview, lanes, functions, nodes, events and secret names of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

from ..clock import Clock
from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.events.event import SequencedEvent
from ..model.lane import LaneUse
from ..model.page import Page
from ..ports.store import Node
from ..service.accounts.secrets import SecretName
from ..service.runs.nodes import NodeStatus
from ..service.runs.overview import Overview
from ..wire.instants import parse_instant
from ..wire.overview import read_lane, read_node, read_node_seen, read_overview
from .connection import Connection, QueryParameters, path_segment
from .decode import decode_response, fetch_page
from .event_stream import event_from_json, stream_events

T = TypeVar("T")
_MAX_PAGE: Final = 200
"""Largest page of events that a server returns."""


class RemoteOverviews:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def now(self, principal: Principal) -> Overview:
        del principal
        return await decode_response(self._connection, read_overview, await self._connection.get("/v1/overview"))


class RemoteLanes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, principal: Principal) -> tuple[LaneUse, ...]:
        del principal
        return await _fetch_all(self._connection, "/v1/lanes", read_lane)

    async def limit(self, principal: Principal, name: str, limit: int) -> LaneUse:
        del principal
        response = await self._connection.put(f"/v1/lanes/{path_segment(name)}", {"limit": limit})
        return await decode_response(self._connection, read_lane, response)


class RemoteFunctions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def zone(self, name: str) -> str | None:
        """Return the zone that a function declares; None if it declares none or is unknown to the server."""
        try:
            response = await self._connection.get(f"/v1/functions/{path_segment(name)}")
        except NotFound:
            return None
        return await decode_response(self._connection, _declared_zone, response)


def _declared_zone(value: Any) -> str | None:
    zone = value["defaults"]["zone"]
    return None if zone is None else str(zone)


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


class RemoteEvents:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def after(self, principal: Principal, number: int, limit: int = 1_000) -> tuple[SequencedEvent, ...]:
        del principal
        events: list[SequencedEvent] = []
        while len(events) < limit:
            query = [("after", str(number)), ("limit", str(min(limit - len(events), _MAX_PAGE)))]
            response = await self._connection.get("/v1/events", query)
            page = await decode_response(
                self._connection, lambda each: [event_from_json(one) for one in each["items"]], response
            )
            events += page
            if not page:
                break
            number = page[-1].cursor
        return tuple(events)

    async def last(self, principal: Principal) -> int:
        del principal
        response = await self._connection.get("/v1/events", [("limit", "1")])
        return await decode_response(self._connection, lambda each: int(each["last"]), response)

    def follow(self, principal: Principal, number: int) -> AsyncIterator[SequencedEvent]:
        del principal
        return stream_events(self._connection, self._clock, number)


class RemoteSecrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def set(self, principal: Principal, name: str, value: str, owner: str | None = None) -> SecretName:
        del principal
        response = await self._connection.put(
            f"/v1/secrets/{path_segment(name)}", {"value": value}, _owner_parameter(owner)
        )
        return await decode_response(self._connection, _read_secret, response)

    async def names(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[SecretName]:
        del principal
        return await fetch_page(self._connection, "/v1/secrets", _read_secret, _owner_parameter(owner), after, limit)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        del principal
        await self._connection.delete(f"/v1/secrets/{path_segment(name)}", _owner_parameter(owner))

    async def grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        del principal
        path = f"/v1/secrets/{path_segment(name)}/agents/{path_segment(agent)}"
        return await decode_response(
            self._connection, _read_secret, await self._connection.put(path, None, _owner_parameter(owner))
        )

    async def revoke_grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        del principal
        path = f"/v1/secrets/{path_segment(name)}/agents/{path_segment(agent)}"
        return await decode_response(
            self._connection, _read_secret, await self._connection.delete(path, _owner_parameter(owner))
        )


def _read_secret(value: Any) -> SecretName:
    return SecretName(value["name"], value["owner"], parse_instant(value["updated"]), tuple(value.get("agents", ())))


def _owner_parameter(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]
