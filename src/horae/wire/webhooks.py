"""Webhooks and their deliveries as JSON, out and in; of a secret never more than that there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Refusal
from ..model.events.webhook import NO_KEY, Attempt, Delivery, DeliveryState, Disabled, Webhook
from ..outgoing.guard import parse_url
from ..outgoing.refusals import refuse_address
from ..service.events.refusals import refuse
from .instants import instant, read_instant, utc


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """`both_until` is how long a former secret signs beside the new one."""
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
    """Why the node may not call the address, with the setting that would allow it."""
    refusal = blocked_refusal(webhook)
    if refusal is None:
        return None
    networks = [each for each in webhook.blocked if each != NO_KEY]
    return {"networks": networks, "detail": refusal.message, "hint": refusal.hint}


def blocked_refusal(webhook: Webhook) -> Refusal | None:
    """None where nothing blocks it; else the refusal of the key or of the networks."""
    if not webhook.blocked:
        return None
    host = parse_url(webhook.url).host
    if NO_KEY in webhook.blocked:
        return refuse("webhook_without_key", host=host)
    return refuse_address(host, webhook.blocked)


def _read_blocked(said: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Without networks, the key is what the node lacks."""
    return () if said is None else tuple(said["networks"]) or (NO_KEY,)


def read_webhook(said: Mapping[str, Any]) -> Webhook:
    return Webhook(
        said["id"],
        said["owner"],
        said["url"],
        instant(said["created"]),
        0,
        tuple(said["types"]),
        said["note"],
        None if said["disabled"] is None else Disabled(said["disabled"]),
        read_instant(said["disabled_at"]),
        read_instant(said["failing_since"]),
        former_until=read_instant(said["both_until"]),
        after=said["after"],
        blocked=_read_blocked(said.get("blocked")),
        version=said["version"],
    )


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """What was sent is not told again: the event log has it, under the number in `message`."""
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


def read_delivery(said: Mapping[str, Any]) -> Delivery:
    return Delivery(
        said["id"],
        said["webhook"],
        said["owner"],
        said["message"],
        said["type"],
        said["task_id"],
        "",
        instant(said["created"]),
        DeliveryState(said["state"]),
        read_instant(said["next_attempt"]),
        tuple(Attempt(instant(each["at"]), each["status"], each["answer"]) for each in said["attempts"]),
    )
