"""Webhooks: list, create (the signing secret is shown once), edit, test, rotate, remove; deliveries with redelivery."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from starlette.responses import Response

from ....errors import HoraeError
from ....model.events.event import EventKind
from ....model.events.webhook import Delivery, DeliveryState, Webhook
from ....wire.webhooks import blocked_refusal
from ...notice import Undo
from ...outcomes import Sign
from ...page import FORM_ERRORS, PageRequest, check_confirmation, form, page
from .tabs import render_settings, render_tab

PAGE_SIZE: Final = 50
_DELIVERIES: Final = 25
_DELIVERY_SIGNS: Final = {
    DeliveryState.PENDING: ("◐", "odd"),
    DeliveryState.DELIVERED: ("✓", "good"),
    DeliveryState.FAILED: ("✕", "bad"),
}


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    after = request.request.query_params.get("after")
    webhooks = await request.service.webhooks.page(request.viewer.principal, after or None, PAGE_SIZE)
    data = {
        "webhooks": [(each, _sign(request, each)) for each in webhooks.items],
        "after": webhooks.after,
        "query": {"after": after} if after else {},
        "kinds": [kind.value for kind in EventKind],
    }
    return render_tab(request, "webhooks", data, error)


async def show_one(request: PageRequest, error: HoraeError | None = None) -> Response:
    """Show one webhook with its form and its deliveries, newest first."""
    webhooks, principal = request.service.webhooks, request.viewer.principal
    webhook = await webhooks.get(principal, request.request.path_params["webhook"])
    after = request.request.query_params.get("after")
    deliveries = await webhooks.deliveries(principal, webhook.id, after or None, _DELIVERIES)
    refusal = blocked_refusal(webhook)
    data: dict[str, Any] = {
        "webhook": webhook,
        "sign": _sign(request, webhook),
        "blocked": None if refusal is None else refusal.in_language(request.viewer.language),
        "values": dict(request.form) if error is not None and "url" in request.form else _inputs(webhook),
        "host": _host(webhook),
        "kinds": [kind.value for kind in EventKind],
        "deliveries": [(each, _delivery_sign(request, each)) for each in deliveries.items],
        "after": deliveries.after,
        "query": {"after": after} if after else {},
    }
    return render_settings(request, "settings/webhook.html", "webhooks", data, error)


async def create(request: PageRequest) -> Response:
    """Create a webhook and show its signing secret, which no later page can show."""
    sent = request.form
    try:
        webhook, secret = await request.service.webhooks.create(
            request.viewer.principal,
            sent.text("url"),
            _read_types(sent.text("types")),
            sent.text("note"),
            sent.text("owner") or None,
        )
    except FORM_ERRORS as error:
        return await show(request, error)
    return _secret_page(request, webhook, secret)


async def edit(request: PageRequest) -> Response:
    sent, principal = request.form, request.viewer.principal
    before = await request.service.webhooks.get(principal, request.request.path_params["webhook"])
    try:
        await request.service.webhooks.edit(
            principal,
            before.id,
            _read_version(sent.text("version")),
            url=sent.text("url"),
            types=_read_types(sent.text("types")),
            note=sent.text("note"),
        )
    except FORM_ERRORS as error:
        return await show_one(request, error)
    undo = Undo(f"/settings/webhooks/{before.id}/edit", _inputs(before))
    return request.redirect(f"/settings/webhooks/{before.id}", request.notice("settings_webhook_saved", undo))


async def enable(request: PageRequest) -> Response:
    return await _set_enabled(request, enabled=True)


async def disable(request: PageRequest) -> Response:
    return await _set_enabled(request, enabled=False)


async def _set_enabled(request: PageRequest, *, enabled: bool) -> Response:
    webhook_id = request.request.path_params["webhook"]
    webhook = await request.service.webhooks.edit(request.viewer.principal, webhook_id, enabled=enabled)
    path = f"/settings/webhooks/{webhook.id}"
    undo = Undo(f"{path}/disable" if enabled else f"{path}/enable", {})
    text = "settings_webhook_enabled" if enabled else "settings_webhook_disabled"
    return request.back(path, request.notice(text, undo))


async def test(request: PageRequest) -> Response:
    """Send a test message and say what the receiver answered."""
    webhook_id = request.request.path_params["webhook"]
    delivery = await request.service.webhooks.test(request.viewer.principal, webhook_id)
    return _report_delivery(request, delivery)


async def redeliver(request: PageRequest) -> Response:
    webhook_id = request.request.path_params["webhook"]
    try:
        delivery = await request.service.webhooks.redeliver(
            request.viewer.principal, webhook_id, request.form.text("delivery")
        )
    except FORM_ERRORS as error:
        return await show_one(request, error)
    return _report_delivery(request, delivery)


async def rotate(request: PageRequest) -> Response:
    webhook_id = request.request.path_params["webhook"]
    webhook, secret = await request.service.webhooks.rotate(request.viewer.principal, webhook_id)
    return _secret_page(request, webhook, secret)


async def remove(request: PageRequest) -> Response:
    principal = request.viewer.principal
    webhook = await request.service.webhooks.get(principal, request.request.path_params["webhook"])
    try:
        check_confirmation(request, _host(webhook))
        await request.service.webhooks.remove(principal, webhook.id)
    except FORM_ERRORS as error:
        return await show_one(request, error)
    return request.redirect("/settings/webhooks", request.notice("settings_webhook_removed", host=_host(webhook)))


def _secret_page(request: PageRequest, webhook: Webhook, secret: str) -> Response:
    return render_settings(request, "settings/webhook_secret.html", "webhooks", {"webhook": webhook, "secret": secret})


def _report_delivery(request: PageRequest, delivery: Delivery) -> Response:
    attempt = delivery.attempts[-1]
    text = "settings_webhook_answered" if attempt.ok else "settings_webhook_unanswered"
    answer = attempt.answer if attempt.status is None else f"{attempt.status} {attempt.answer}"
    return request.redirect(f"/settings/webhooks/{delivery.webhook}", request.notice(text, answer=answer[:200]))


def _inputs(webhook: Webhook) -> dict[str, str]:
    return {"url": webhook.url, "types": " ".join(webhook.types), "note": webhook.note}


def _host(webhook: Webhook) -> str:
    return urlsplit(webhook.url).hostname or webhook.id


def _read_types(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _read_version(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _sign(request: PageRequest, webhook: Webhook) -> Sign:
    if webhook.disabled is not None:
        return Sign("■", "dim", request.text(f"settings_webhook_off_{webhook.disabled.value}"))
    if webhook.blocked:
        return Sign("✕", "bad", request.text("settings_webhook_blocked"))
    if webhook.failing_since is not None:
        return Sign("△", "warn", request.text("settings_webhook_failing"))
    return Sign("●", "good", request.text("settings_webhook_on"))


def _delivery_sign(request: PageRequest, delivery: Delivery) -> Sign:
    return Sign(*_DELIVERY_SIGNS[delivery.state], request.text(f"settings_delivery_{delivery.state.value}"))


_ONE: Final = "/settings/webhooks/{webhook}"
ROUTES: Final = (
    page("/settings/webhooks", show),
    form("/settings/webhooks/create", create),
    page(_ONE, show_one),
    form(f"{_ONE}/edit", edit),
    form(f"{_ONE}/enable", enable),
    form(f"{_ONE}/disable", disable),
    form(f"{_ONE}/test", test),
    form(f"{_ONE}/redeliver", redeliver),
    form(f"{_ONE}/rotate", rotate),
    form(f"{_ONE}/remove", remove),
)
