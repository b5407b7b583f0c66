"""Chat groups of a server."""

from __future__ import annotations

from typing import Any

from ..model.accounts.principal import Principal
from ..model.agents.group import Group
from ..model.page import Page
from ..service.groups.groups import GroupStatus, UnregisteredChat
from ..wire.groups import group_fields_json, read_group, read_group_status, read_unregistered
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteGroups:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(self, principal: Principal, folder: str, chat: str, **fields: Any) -> Group:
        del principal
        body = {"folder": folder, "chat": chat, **group_fields_json(fields)}
        return await decode_response(self._connection, read_group, await self._connection.post("/v1/groups", body))

    async def get(self, principal: Principal, folder: str) -> Group:
        return (await self.status(principal, folder)).group

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Group]:
        del principal
        return await fetch_page(self._connection, "/v1/groups", read_group, (), after, limit)

    async def unregistered(self, principal: Principal) -> tuple[UnregisteredChat, ...]:
        del principal
        answer = await self._connection.get("/v1/unregistered-chats")
        return await decode_response(
            self._connection, lambda data: tuple(map(read_unregistered, data["items"])), answer
        )

    async def status(self, principal: Principal, folder: str) -> GroupStatus:
        del principal
        return await decode_response(self._connection, read_group_status, await self._connection.get(_path(folder)))

    async def change(self, principal: Principal, folder: str, **fields: Any) -> Group:
        del principal
        response = await self._connection.request("PATCH", _path(folder), (), group_fields_json(fields))
        return await decode_response(self._connection, read_group, response.json)

    async def remove(self, principal: Principal, folder: str) -> None:
        del principal
        await self._connection.delete(_path(folder))


def _path(folder: str) -> str:
    return f"/v1/groups/{path_segment(folder)}"
