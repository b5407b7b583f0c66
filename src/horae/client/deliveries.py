"""Texts on their way to the chats of a server."""

from __future__ import annotations

from ..model.accounts.principal import Principal
from ..model.agents.delivery import Delivery, DeliveryState
from ..model.page import Page
from ..wire.chats import read_chat_delivery
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteDeliveries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(
        self,
        principal: Principal,
        state: DeliveryState | str | None = None,
        chat: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Delivery]:
        del principal
        query = [("state", None if state is None else str(state)), ("chat", chat)]
        given = [(name, value) for name, value in query if value is not None]
        return await fetch_page(self._connection, "/v1/deliveries", read_chat_delivery, given, after, limit)

    async def get(self, principal: Principal, delivery_id: str) -> Delivery:
        del principal
        response = await self._connection.get(_path(delivery_id))
        return await decode_response(self._connection, read_chat_delivery, response)

    async def retry(self, principal: Principal, delivery_id: str) -> Delivery:
        del principal
        response = await self._connection.post(f"{_path(delivery_id)}/retry")
        return await decode_response(self._connection, read_chat_delivery, response)

    async def discard(self, principal: Principal, delivery_id: str) -> None:
        del principal
        await self._connection.delete(_path(delivery_id))


def _path(delivery_id: str) -> str:
    return f"/v1/deliveries/{path_segment(delivery_id)}"
