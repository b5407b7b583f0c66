"""Texts on their way to chats: list, show, send again, discard."""

from __future__ import annotations

from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....service.chats.deliveries import Deliveries
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Path, Query
from ....web.responses import json_response, no_content
from ....web.routing import RouteGroup
from ....wire.chats import chat_delivery_json
from ...openapi import Operation
from ...parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1/deliveries", "deliveries")

DeliveryId = Annotated[str, Path(max_length=200, description="The id of a delivery: `dlv_…`.")]
DeliveryStateQuery = Annotated[
    str | None, Query(max_length=20, description="`pending`, `sent`, `received`, `read` or `failed`.")
]
ChatQuery = Annotated[str | None, Query(max_length=200, description="Only those of this chat: `telegram:-100`.")]


def _deliveries(request: Request, *, dry_run: bool = False) -> Deliveries:
    return service_for(request, dry_run=dry_run).deliveries


@routes.get("", Operation("list_chat_deliveries", "Texts on their way to chats, newest first", "ChatDeliveryPage"))
async def list_chat_deliveries(
    request: Request,
    principal: Principal,
    *,
    state: DeliveryStateQuery = None,
    chat: ChatQuery = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await _deliveries(request).page(principal, state, chat, after, limit)
    return page_response(request, principal, page, chat_delivery_json)


@routes.get("/{delivery_id}", Operation("get_chat_delivery", "One delivery", "ChatDelivery", problems=(404,)))
async def get_chat_delivery(request: Request, principal: Principal, delivery_id: DeliveryId) -> Response:
    return json_response(chat_delivery_json(await _deliveries(request).get(principal, delivery_id)))


@routes.post(
    "/{delivery_id}/retry",
    Operation("retry_chat_delivery", "Send a failed delivery again", "ChatDelivery", problems=(404, 409)),
)
async def retry_chat_delivery(
    request: Request, principal: Principal, delivery_id: DeliveryId, *, dry_run: DryRun = False
) -> Response:
    delivery = await _deliveries(request, dry_run=dry_run).retry(principal, delivery_id)
    return json_response(chat_delivery_json(delivery))


@routes.delete(
    "/{delivery_id}",
    Operation("discard_chat_delivery", "Discard a pending or failed delivery", None, status=204, problems=(404, 409)),
)
async def discard_chat_delivery(
    request: Request, principal: Principal, delivery_id: DeliveryId, *, dry_run: DryRun = False
) -> Response:
    await _deliveries(request, dry_run=dry_run).discard(principal, delivery_id)
    return no_content()
