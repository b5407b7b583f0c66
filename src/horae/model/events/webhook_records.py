"""Record encoding of webhooks and deliveries, and of each webhook's delivery queue, ordered by key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..ids import from_microseconds, to_microseconds
from ..record import Record, RecordWrite
from .webhook import DELIVERY_RETENTION, Attempt, Delivery, DeliveryState, DisabledCause, Webhook

WEBHOOK_KIND: Final = "webhook"
DELIVERY_KIND: Final = "delivery"
DUE_KIND: Final = "delivery.due"


def webhook_record(webhook: Webhook) -> Record:
    body = {
        name: _to_json(value) for name, value in webhook._asdict().items() if name not in ("id", "owner", "version")
    }
    return Record(WEBHOOK_KIND, webhook.id, webhook.owner, _text(body), webhook.version)


def webhook_from(record: Record) -> Webhook:
    body = json.loads(record.body)
    times = ("created", "disabled_at", "failing_since", "former_until")
    disabled = None if body["disabled"] is None else DisabledCause(body["disabled"])
    fields = (
        body | {name: _instant(body[name]) for name in times} | {"types": tuple(body["types"]), "disabled": disabled}
    )
    fields["blocked"] = tuple(body.get("blocked", ()))
    return Webhook(id=record.key, owner=record.owner, version=record.version, **fields)


def delivery_key(webhook: str, name: str) -> str:
    return f"{webhook}/{name}"


def delivery_record(delivery: Delivery) -> Record:
    body = delivery._asdict() | {
        "attempts": [{name: _to_json(value) for name, value in each._asdict().items()} for each in delivery.attempts]
    }
    for name in ("id", "webhook", "owner", "version"):
        del body[name]
    plain = {name: _to_json(value) for name, value in body.items()}
    key = delivery_key(delivery.webhook, delivery.id)
    return Record(
        DELIVERY_KIND, key, delivery.owner, _text(plain), delivery.version, delivery.created + DELIVERY_RETENTION
    )


def delivery_from(record: Record) -> Delivery:
    body = json.loads(record.body)
    webhook, _, name = record.key.partition("/")
    attempts = tuple(_attempt_from(each) for each in body["attempts"])
    fields = body | {"created": _parse_instant(body["created"]), "due": _instant(body["due"]), "attempts": attempts}
    fields["state"] = DeliveryState(body["state"])
    return Delivery(id=name, webhook=webhook, owner=record.owner, version=record.version, **fields)


def _attempt_from(body: Mapping[str, Any]) -> Attempt:
    return Attempt(_parse_instant(body["at"]), body["status"], body["answer"], tuple(body.get("blocked", ())))


def due_record(delivery: Delivery) -> Record | None:
    """Return the queue record of a delivery, whose key sorts by due instant; None when no attempt is due."""
    if delivery.due is None:
        return None
    key = f"{delivery.webhook}/{max(0, to_microseconds(delivery.due)):016d}/{delivery.id}"
    return Record(DUE_KIND, key, delivery.owner, "{}", expires=delivery.created + DELIVERY_RETENTION)


def parse_due_key(key: str) -> tuple[datetime, str]:
    """Parse the key of a queue record into the due instant and the delivery id."""
    _, number, name = key.split("/")
    return from_microseconds(int(number)), name


def new_delivery_writes(delivery: Delivery) -> Sequence[RecordWrite]:
    """Return the writes of a new delivery and its queue record."""
    due = due_record(delivery)
    return [RecordWrite(delivery_record(delivery)), *([] if due is None else [RecordWrite(due)])]


def changed_delivery_writes(before: Delivery, after: Delivery) -> Sequence[RecordWrite]:
    """Return the writes that update a delivery and move its queue record."""
    writes = [RecordWrite(delivery_record(after), before.version)]
    old, new = due_record(before), due_record(after)
    if old is not None and old != new:
        writes.append(RecordWrite(old, 1, dropped=True))
    if new is not None and old != new:
        writes.append(RecordWrite(new))
    return writes


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _parse_instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
