"""Webhooks and their deliveries as records, and the queue of what is to be sent to each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..ids import instant, microseconds
from ..record import Record, Writing
from .webhook import KEPT, Attempt, Delivery, DeliveryState, Disabled, Webhook

WEBHOOK: Final = "webhook"
DELIVERY: Final = "delivery"
DUE: Final = "delivery.due"


def webhook_record(webhook: Webhook) -> Record:
    body = {name: _plain(value) for name, value in webhook._asdict().items() if name not in ("id", "owner", "version")}
    return Record(WEBHOOK, webhook.id, webhook.owner, _text(body), webhook.version)


def webhook_from(record: Record) -> Webhook:
    body = json.loads(record.body)
    times = ("created", "disabled_at", "failing_since", "former_until")
    disabled = None if body["disabled"] is None else Disabled(body["disabled"])
    read = body | {name: _instant(body[name]) for name in times} | {"types": tuple(body["types"]), "disabled": disabled}
    read["blocked"] = tuple(body.get("blocked", ()))
    return Webhook(id=record.key, owner=record.owner, version=record.version, **read)


def delivery_key(webhook: str, name: str) -> str:
    return f"{webhook}/{name}"


def delivery_record(delivery: Delivery) -> Record:
    body = delivery._asdict() | {
        "attempts": [{name: _plain(value) for name, value in each._asdict().items()} for each in delivery.attempts]
    }
    for name in ("id", "webhook", "owner", "version"):
        del body[name]
    plain = {name: _plain(value) for name, value in body.items()}
    key = delivery_key(delivery.webhook, delivery.id)
    return Record(DELIVERY, key, delivery.owner, _text(plain), delivery.version, delivery.created + KEPT)


def delivery_from(record: Record) -> Delivery:
    body = json.loads(record.body)
    webhook, _, name = record.key.partition("/")
    attempts = tuple(_attempt_from(each) for each in body["attempts"])
    read = body | {"created": _sure(body["created"]), "due": _instant(body["due"]), "attempts": attempts}
    read["state"] = DeliveryState(body["state"])
    return Delivery(id=name, webhook=webhook, owner=record.owner, version=record.version, **read)


def _attempt_from(body: Mapping[str, Any]) -> Attempt:
    return Attempt(_sure(body["at"]), body["status"], body["answer"], tuple(body.get("blocked", ())))


def due_record(delivery: Delivery) -> Record | None:
    """Its place in the queue of its webhook: the first by key is what is due first."""
    if delivery.due is None:
        return None
    key = f"{delivery.webhook}/{max(0, microseconds(delivery.due)):016d}/{delivery.id}"
    return Record(DUE, key, delivery.owner, "{}", expires=delivery.created + KEPT)


def due_of(key: str) -> tuple[datetime, str]:
    """When it is due, and which delivery."""
    _, number, name = key.split("/")
    return instant(int(number)), name


def made(delivery: Delivery) -> Sequence[Writing]:
    due = due_record(delivery)
    return [Writing(delivery_record(delivery)), *([] if due is None else [Writing(due)])]


def rewritten(before: Delivery, after: Delivery) -> Sequence[Writing]:
    """A delivery as it stands now, and its place in the queue of its webhook."""
    found = [Writing(delivery_record(after), before.version)]
    old, new = due_record(before), due_record(after)
    if old is not None and old != new:
        found.append(Writing(old, 1, dropped=True))
    if new is not None and old != new:
        found.append(Writing(new))
    return found


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _sure(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
