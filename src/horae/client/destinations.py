"""Destinations of a server and their notices; a URL is never read back."""

from __future__ import annotations

from typing import Any

from ..model.accounts.principal import Principal
from ..model.events.destination import Destination
from ..model.events.webhook import Delivery
from ..model.page import Page
from ..wire.destinations import read_destination, read_notice_delivery
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteDestinations:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def put(self, principal: Principal, name: str, owner: str | None = None, **fields: Any) -> Destination:
        del principal
        response = await self._connection.put(_path(name), fields, _owner_parameter(owner))
        return await decode_response(self._connection, read_destination, response)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Destination]:
        del principal
        return await fetch_page(self._connection, "/v1/destinations", read_destination, (), after, limit)

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> Destination:
        del principal
        response = await self._connection.get(_path(name), _owner_parameter(owner))
        return await decode_response(self._connection, read_destination, response)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        del principal
        await self._connection.delete(_path(name), _owner_parameter(owner))

    async def test(self, principal: Principal, name: str, owner: str | None = None) -> Delivery:
        del principal
        response = await self._connection.post(f"{_path(name)}/test", None, _owner_parameter(owner))
        return await decode_response(self._connection, read_notice_delivery, response)

    async def deliveries(
        self, principal: Principal, name: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Delivery]:
        del principal
        path = f"{_path(name)}/notices"
        return await fetch_page(self._connection, path, read_notice_delivery, _owner_parameter(owner), after, limit)


def _path(name: str) -> str:
    return f"/v1/destinations/{path_segment(name)}"


def _owner_parameter(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]
