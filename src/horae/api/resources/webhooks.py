"""Webhooks: create, change, rotate the secret, test, remove; and their deliveries."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...web.authentication import Caller
from ...web.body import read_json_body
from ...web.etags import entity_response, expected_version
from ...web.idempotency import Ids, repeatable, store_ids
from ...web.pagination import page_response, read_cursor
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routers import resource_router
from ...wire.fields import check_fields, text_or_none
from ...wire.webhooks import delivery_json, webhook_json
from ..openapi import IF_MATCH, IF_NONE_MATCH, describe_operation
from ..parameters import Cursor, DryRun, Limit, service_for

router: Final = resource_router("/v1/webhooks", "webhooks")

WebhookId = Annotated[str, Path(max_length=200, description="The id of a webhook: `whk_…`.")]
DeliveryId = Annotated[str, Path(max_length=200, description="The id of a delivery: `dlv_…`.")]
_NEW_WEBHOOK: Final = {"url": "https://example.com/hooks/horae", "types": ["run.failed", "task.*"], "note": "pager"}
_CHANGE: Final = {"enabled": False}


@router.get("", **describe_operation("list_webhooks", "Webhooks", "WebhookPage"))
async def list_webhooks(request: Request, principal: Caller, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = read_cursor(request, principal, cursor)
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


@router.post(
    "",
    **describe_operation(
        "create_webhook",
        "Create a webhook for events from now on; its signing secret is shown only once",
        "WebhookMade",
        status=201,
        request_body="NewWebhook",
        example=_NEW_WEBHOOK,
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_webhook)
async def create_webhook(request: Request, principal: Caller, *, dry_run: DryRun = False) -> Response:
    body = check_fields("webhook", await read_json_body(request), ("url", "types", "note", "owner"))
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


@router.get(
    "/{webhook_id}",
    **describe_operation("get_webhook", "One webhook", "Webhook", problems=(404,), headers=(IF_NONE_MATCH,)),
)
async def get_webhook(request: Request, principal: Caller, webhook_id: WebhookId) -> Response:
    webhook = await app_context(request).service.webhooks.get(principal, webhook_id)
    return entity_response(request, webhook_json(webhook), webhook.version)


@router.patch(
    "/{webhook_id}",
    **describe_operation(
        "edit_webhook",
        "Change its address, types or note; disable it, or enable it again",
        "Webhook",
        request_body="WebhookChange",
        example=_CHANGE,
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def edit_webhook(
    request: Request, principal: Caller, webhook_id: WebhookId, *, dry_run: DryRun = False
) -> Response:
    webhooks = service_for(request, dry_run=dry_run).webhooks
    expected = expected_version(request, (await webhooks.get(principal, webhook_id)).version)
    fields = _read_changes(await read_json_body(request))
    webhook = await webhooks.edit(principal, webhook_id, expected, **fields)
    return entity_response(request, webhook_json(webhook), webhook.version)


@router.delete(
    "/{webhook_id}",
    **describe_operation("remove_webhook", "Remove a webhook and its secrets", None, status=204, problems=(404,)),
)
async def remove_webhook(
    request: Request, principal: Caller, webhook_id: WebhookId, *, dry_run: DryRun = False
) -> Response:
    await service_for(request, dry_run=dry_run).webhooks.remove(principal, webhook_id)
    return no_content()


@router.post(
    "/{webhook_id}/rotate",
    **describe_operation(
        "rotate_webhook",
        "Rotate the secret: the new one is shown only once, and the former one also signs for a day",
        "WebhookMade",
        problems=(404, 409),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_webhook)
async def rotate_webhook(
    request: Request, principal: Caller, webhook_id: WebhookId, *, dry_run: DryRun = False
) -> Response:
    webhook, secret = await service_for(request, dry_run=dry_run).webhooks.rotate(principal, webhook_id)
    store_ids(request, id=webhook.id)
    return json_response({**webhook_json(webhook), "secret": None if dry_run else secret})


@router.post(
    "/{webhook_id}/test",
    **describe_operation(
        "test_webhook", "Send a test message now, and return its delivery", "Delivery", problems=(404,), idempotent=True
    ),
)
@repeatable(Scope.WRITE, _replay_delivery)
async def test_webhook(request: Request, principal: Caller, webhook_id: WebhookId) -> Response:
    delivery = await app_context(request).service.webhooks.test(principal, webhook_id)
    store_ids(request, id=delivery.id)
    return json_response(delivery_json(delivery))


@router.get(
    "/{webhook_id}/deliveries",
    **describe_operation(
        "list_deliveries", "Deliveries, newest first; kept for seven days", "DeliveryPage", problems=(404,)
    ),
)
async def list_deliveries(
    request: Request, principal: Caller, webhook_id: WebhookId, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = read_cursor(request, principal, cursor)
    page = await app_context(request).service.webhooks.deliveries(principal, webhook_id, after, limit)
    return page_response(request, principal, page, delivery_json)


@router.get(
    "/{webhook_id}/deliveries/{delivery_id}",
    **describe_operation("get_delivery", "One delivery", "Delivery", problems=(404,)),
)
async def get_delivery(request: Request, principal: Caller, webhook_id: WebhookId, delivery_id: DeliveryId) -> Response:
    delivery = await app_context(request).service.webhooks.delivery(principal, webhook_id, delivery_id)
    return json_response(delivery_json(delivery))


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/redeliver",
    **describe_operation(
        "redeliver",
        "Send it once more now, under the same webhook-id",
        "Delivery",
        problems=(404, 409),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_delivery)
async def redeliver(request: Request, principal: Caller, webhook_id: WebhookId, delivery_id: DeliveryId) -> Response:
    delivery = await app_context(request).service.webhooks.redeliver(principal, webhook_id, delivery_id)
    store_ids(request, id=delivery.id)
    return json_response(delivery_json(delivery))


def _read_changes(value: object) -> dict[str, Any]:
    changes = dict(check_fields("webhook", value, ("url", "types", "note", "enabled")))
    if "enabled" in changes and not isinstance(changes["enabled"], bool):
        raise refuse("bad_policy", name="enabled", value=changes["enabled"], wanted="true or false")
    if "note" in changes:
        changes["note"] = text_or_none("note", changes["note"]) or ""
    return changes
