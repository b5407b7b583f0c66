"""Webhooks: create, change, rotate the secret, test, remove; and their deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...web.etags import entity_response, expected_version
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.pagination import decode_cursor, page_response
from ...web.parameters import Body, Path
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routing import RouteGroup
from ...wire.fields import text_or_none
from ...wire.webhooks import delivery_json, webhook_json
from ..openapi import IF_MATCH, IF_NONE_MATCH, Operation
from ..parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1/webhooks", "webhooks")

WebhookId = Annotated[str, Path(max_length=200, description="The id of a webhook: `whk_…`.")]
DeliveryId = Annotated[str, Path(max_length=200, description="The id of a delivery: `dlv_…`.")]
_NEW_WEBHOOK: Final = {"url": "https://example.com/hooks/horae", "types": ["run.failed", "task.*"], "note": "pager"}
_CHANGE: Final = {"enabled": False}


@routes.get("", Operation("list_webhooks", "Webhooks", "WebhookPage"))
async def list_webhooks(
    request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.webhooks.page(principal, after, limit)
    return page_response(request, principal, page, webhook_json)


async def _replay_webhook(request: Request, principal: Principal, ids: Ids) -> Response:
    webhook = await app_context(request).service.webhooks.get(principal, ids["id"])
    return json_response({**webhook_json(webhook), "secret": None}, 201, {"Location": f"/v1/webhooks/{webhook.id}"})


async def _replay_delivery(request: Request, principal: Principal, ids: Ids) -> Response:
    delivery = await app_context(request).service.webhooks.delivery(
        principal, request.path_params["webhook_id"], ids["id"]
    )
    return json_response(delivery_json(delivery))


@routes.post(
    "",
    Operation(
        "create_webhook",
        "Create a webhook for events from now on; its signing secret is shown only once",
        "WebhookMade",
        status=201,
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_webhook)
async def create_webhook(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("NewWebhook", "webhook", example=_NEW_WEBHOOK)],
    *,
    dry_run: DryRun = False,
) -> Response:
    if "url" not in body:
        raise refuse("missing_field", name="url")
    webhook, secret = await service_for(request, dry_run=dry_run).webhooks.create(
        principal,
        body["url"],
        body.get("types", ()),
        text_or_none("note", body.get("note")) or "",
        text_or_none("owner", body.get("owner")),
    )
    if dry_run:
        return json_response({**webhook_json(webhook), "secret": None})
    store_ids(request, id=webhook.id)
    return json_response({**webhook_json(webhook), "secret": secret}, 201, {"Location": f"/v1/webhooks/{webhook.id}"})


@routes.get(
    "/{webhook_id}",
    Operation("get_webhook", "One webhook", "Webhook", problems=(404,), headers=(IF_NONE_MATCH,)),
)
async def get_webhook(request: Request, principal: Principal, webhook_id: WebhookId) -> Response:
    webhook = await app_context(request).service.webhooks.get(principal, webhook_id)
    return entity_response(request, webhook_json(webhook), webhook.version)


@routes.patch(
    "/{webhook_id}",
    Operation(
        "edit_webhook",
        "Change its address, types or note; disable it, or enable it again",
        "Webhook",
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def edit_webhook(
    request: Request,
    principal: Principal,
    webhook_id: WebhookId,
    body: Annotated[Any, Body("WebhookChange", "webhook", example=_CHANGE)],
    *,
    dry_run: DryRun = False,
) -> Response:
    webhooks = service_for(request, dry_run=dry_run).webhooks
    expected = expected_version(request, (await webhooks.get(principal, webhook_id)).version)
    fields = _read_changes(body)
    webhook = await webhooks.edit(principal, webhook_id, expected, **fields)
    return entity_response(request, webhook_json(webhook), webhook.version)


@routes.delete(
    "/{webhook_id}",
    Operation("remove_webhook", "Remove a webhook and its secrets", None, status=204, problems=(404,)),
)
async def remove_webhook(
    request: Request, principal: Principal, webhook_id: WebhookId, *, dry_run: DryRun = False
) -> Response:
    await service_for(request, dry_run=dry_run).webhooks.remove(principal, webhook_id)
    return no_content()


@routes.post(
    "/{webhook_id}/rotate",
    Operation(
        "rotate_webhook",
        "Rotate the secret: the new one is shown only once, and the former one also signs for a day",
        "WebhookMade",
        problems=(404, 409),
    ),
)
@idempotent(Scope.WRITE, _replay_webhook)
async def rotate_webhook(
    request: Request, principal: Principal, webhook_id: WebhookId, *, dry_run: DryRun = False
) -> Response:
    webhook, secret = await service_for(request, dry_run=dry_run).webhooks.rotate(principal, webhook_id)
    store_ids(request, id=webhook.id)
    return json_response({**webhook_json(webhook), "secret": None if dry_run else secret})


@routes.post(
    "/{webhook_id}/test",
    Operation("test_webhook", "Send a test message now, and return its delivery", "Delivery", problems=(404,)),
)
@idempotent(Scope.WRITE, _replay_delivery)
async def test_webhook(request: Request, principal: Principal, webhook_id: WebhookId) -> Response:
    delivery = await app_context(request).service.webhooks.test(principal, webhook_id)
    store_ids(request, id=delivery.id)
    return json_response(delivery_json(delivery))


@routes.get(
    "/{webhook_id}/deliveries",
    Operation("list_deliveries", "Deliveries, newest first; kept for seven days", "DeliveryPage", problems=(404,)),
)
async def list_deliveries(
    request: Request, principal: Principal, webhook_id: WebhookId, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.webhooks.deliveries(principal, webhook_id, after, limit)
    return page_response(request, principal, page, delivery_json)


@routes.get(
    "/{webhook_id}/deliveries/{delivery_id}",
    Operation("get_delivery", "One delivery", "Delivery", problems=(404,)),
)
async def get_delivery(
    request: Request, principal: Principal, webhook_id: WebhookId, delivery_id: DeliveryId
) -> Response:
    delivery = await app_context(request).service.webhooks.delivery(principal, webhook_id, delivery_id)
    return json_response(delivery_json(delivery))


@routes.post(
    "/{webhook_id}/deliveries/{delivery_id}/redeliver",
    Operation(
        "redeliver",
        "Send it once more now, under the same webhook-id",
        "Delivery",
        problems=(404, 409),
    ),
)
@idempotent(Scope.WRITE, _replay_delivery)
async def redeliver(request: Request, principal: Principal, webhook_id: WebhookId, delivery_id: DeliveryId) -> Response:
    delivery = await app_context(request).service.webhooks.redeliver(principal, webhook_id, delivery_id)
    store_ids(request, id=delivery.id)
    return json_response(delivery_json(delivery))


def _read_changes(body: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(body)
    if "enabled" in changes and not isinstance(changes["enabled"], bool):
        raise refuse("bad_policy", name="enabled", value=changes["enabled"], wanted="true or false")
    if "note" in changes:
        changes["note"] = text_or_none("note", changes["note"]) or ""
    return changes
