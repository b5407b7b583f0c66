"""Webhooks of a server and their deliveries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..model.accounts.principal import Principal
from ..model.events.webhook import Delivery, Webhook
from ..model.page import Page
from ..wire.webhooks import read_delivery, read_webhook
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page
from .refusals import refuse


class RemoteWebhooks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self,
        principal: Principal,
        url: object,
        types: Collection[object] = (),
        note: str = "",
        owner: str | None = None,
    ) -> tuple[Webhook, str]:
        del principal
        body = {"url": url, "types": list(types), "note": note, **({} if owner is None else {"owner": owner})}
        return await self._decode_with_secret(await self._connection.post("/v1/webhooks", body))

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Webhook]:
        del principal
        return await fetch_page(self._connection, "/v1/webhooks", read_webhook, (), after, limit)

    async def get(self, principal: Principal, name: str) -> Webhook:
        del principal
        return await decode_response(self._connection, read_webhook, await self._connection.get(_webhook_path(name)))

    async def remove(self, principal: Principal, name: str) -> None:
        del principal
        await self._connection.delete(_webhook_path(name))

    async def rotate(self, principal: Principal, name: str) -> tuple[Webhook, str]:
        del principal
        return await self._decode_with_secret(await self._connection.post(f"{_webhook_path(name)}/rotate"))

    async def test(self, principal: Principal, name: str) -> Delivery:
        del principal
        return await self._decode_delivery(await self._connection.post(f"{_webhook_path(name)}/test"))

    async def deliveries(
        self, principal: Principal, name: str, after: str | None = None, limit: int = 100
    ) -> Page[Delivery]:
        del principal
        return await fetch_page(self._connection, f"{_webhook_path(name)}/deliveries", read_delivery, (), after, limit)

    async def redeliver(self, principal: Principal, name: str, delivery: str) -> Delivery:
        del principal
        path = f"{_webhook_path(name)}/deliveries/{path_segment(delivery)}/redeliver"
        return await self._decode_delivery(await self._connection.post(path))

    async def _decode_with_secret(self, response: Any) -> tuple[Webhook, str]:
        webhook, secret = await decode_response(
            self._connection, lambda each: (read_webhook(each), each["secret"]), response
        )
        if not isinstance(secret, str):
            raise refuse("shown_once_and_lost", what="secret", what_zh="密钥", id=webhook.id)
        return webhook, secret

    async def _decode_delivery(self, response: Any) -> Delivery:
        return await decode_response(self._connection, read_delivery, response)


def _webhook_path(name: str) -> str:
    return f"/v1/webhooks/{path_segment(name)}"
