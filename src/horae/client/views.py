"""Saved views of a server: list, get, save and remove."""

from __future__ import annotations

from ..model.accounts.principal import Principal
from ..service.accounts.views import View
from ..wire.accounts import read_view
from .connection import Connection, path_segment
from .decode import decode_response

_VIEWS = "/v1/views"


class RemoteViews:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, principal: Principal, list_name: str | None = None) -> tuple[View, ...]:
        del principal
        response = await self._connection.get(_VIEWS, [] if list_name is None else [("list", list_name)])
        return await decode_response(self._connection, lambda each: tuple(map(read_view, each["items"])), response)

    async def get(self, principal: Principal, list_name: str, name: str) -> View:
        del principal
        response = await self._connection.get(_view_path(list_name, name))
        return await decode_response(self._connection, read_view, response)

    async def save(self, principal: Principal, list_name: str, name: str, query: str) -> View:
        del principal
        response = await self._connection.put(_view_path(list_name, name), {"query": query})
        return await decode_response(self._connection, read_view, response)

    async def remove(self, principal: Principal, list_name: str, name: str) -> None:
        del principal
        await self._connection.delete(_view_path(list_name, name))


def _view_path(list_name: str, name: str) -> str:
    return f"{_VIEWS}/{path_segment(list_name)}/{path_segment(name)}"
