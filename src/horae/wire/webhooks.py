"""Webhooks and deliveries to JSON and back; a signing secret is never included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Refusal
from ..model.events.webhook import NO_KEY, Attempt, Delivery, DeliveryState, DisabledCause, Webhook
from ..outgoing.guard import parse_url
from ..outgoing.refusals import refuse_address
from ..service.events.refusals import refuse
from .instants import parse_instant, parse_optional_instant, utc


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """`both_until` is the end of the period in which the former secret signs too."""
    return {
        "id": webhook.id,
        "owner": webhook.owner,
        "url": webhook.url,
        "types": list(webhook.types),
        "note": webhook.note,
        "enabled": webhook.enabled,
        "disabled": None if webhook.disabled is None else webhook.disabled.value,
        "disabled_at": utc(webhook.disabled_at),
        "failing_since": utc(webhook.failing_since),
        "blocked": _blocked_json(webhook),
        "both_until": utc(webhook.former_until),
        "after": webhook.after,
        "created": utc(webhook.created),
        "version": webhook.version,
    }


def _blocked_json(webhook: Webhook) -> dict[str, Any] | None:
    """Encode why the node may not call the address, and the setting that would allow it."""
    refusal = blocked_refusal(webhook)
    if refusal is None:
        return None
    networks = [each for each in webhook.blocked if each != NO_KEY]
    return {"networks": networks, "detail": refusal.message, "hint": refusal.hint}


def blocked_refusal(webhook: Webhook) -> Refusal | None:
    """Return the refusal for a missing key or a blocked network; None if the webhook is not blocked."""
    if not webhook.blocked:
        return None
    host = parse_url(webhook.url).host
    if NO_KEY in webhook.blocked:
        return refuse("webhook_without_key", host=host)
    return refuse_address(host, webhook.blocked)


def _read_blocked(data: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Decode the blocked networks; an empty list means that the node lacks the signing key."""
    return () if data is None else tuple(data["networks"]) or (NO_KEY,)


def read_webhook(data: Mapping[str, Any]) -> Webhook:
    return Webhook(
        data["id"],
        data["owner"],
        data["url"],
        parse_instant(data["created"]),
        0,
        tuple(data["types"]),
        data["note"],
        None if data["disabled"] is None else DisabledCause(data["disabled"]),
        parse_optional_instant(data["disabled_at"]),
        parse_optional_instant(data["failing_since"]),
        former_until=parse_optional_instant(data["both_until"]),
        after=data["after"],
        blocked=_read_blocked(data.get("blocked")),
        version=data["version"],
    )


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """Encode a delivery without its body: the event log has it, under the number in `message`."""
    return {
        "id": delivery.id,
        "webhook": delivery.webhook,
        "owner": delivery.owner,
        "message": delivery.message,
        "type": delivery.kind,
        "task_id": delivery.task_id,
        "state": delivery.state.value,
        "created": utc(delivery.created),
        "next_attempt": utc(delivery.due),
        "attempts": [
            {"at": utc(each.at), "status": each.status, "answer": each.answer, "ok": each.ok}
            for each in delivery.attempts
        ],
    }


def read_delivery(data: Mapping[str, Any]) -> Delivery:
    return Delivery(
        data["id"],
        data["webhook"],
        data["owner"],
        data["message"],
        data["type"],
        data["task_id"],
        "",
        parse_instant(data["created"]),
        DeliveryState(data["state"]),
        parse_optional_instant(data["next_attempt"]),
        tuple(Attempt(parse_instant(each["at"]), each["status"], each["answer"]) for each in data["attempts"]),
    )
