"""Stations of a server."""

from __future__ import annotations

from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.page import Page
from ..model.stations.station import Station
from ..service.stations.stations import StationStatus
from ..wire.stations import read_station
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteStations:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def allow(
        self,
        principal: Principal,
        name: str,
        key: str,
        *,
        kind: str | None = None,
        worker: str | None = None,
        owner: str | None = None,
    ) -> Station:
        del principal
        body = {"key": key, "kind": kind, "worker": worker}
        given = {field: value for field, value in body.items() if value is not None}
        response = await self._connection.put(_path(name), given, _parameters(owner=owner))
        return (await decode_response(self._connection, read_station, response)).station

    async def remove(
        self, principal: Principal, name: str, key: str | None = None, owner: str | None = None
    ) -> Station | None:
        await self._connection.delete(_path(name), _parameters(owner=owner, key=key))
        if key is None:
            return None
        try:
            return (await self.get(principal, name, owner)).station
        except NotFound:
            return None

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> StationStatus:
        del principal
        response = await self._connection.get(_path(name), _parameters(owner=owner))
        return await decode_response(self._connection, read_station, response)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[StationStatus]:
        del principal
        return await fetch_page(self._connection, "/v1/stations", read_station, (), after, limit)


def _path(name: str) -> str:
    return f"/v1/stations/{path_segment(name)}"


def _parameters(**values: str | None) -> list[tuple[str, str]]:
    return [(name, value) for name, value in values.items() if value is not None]
