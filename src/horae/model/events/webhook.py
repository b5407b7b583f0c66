"""Webhook and its deliveries: subscription to events by URL, back-off, attempts, secret rotation, and their records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from ..ids import from_microseconds, hash_fraction, to_microseconds
from ..record import Record, RecordWrite
from .event import Event

DELIVERY_RETENTION: Final = timedelta(days=7)
"""Retention of a delivery, in which it can be read and sent again."""
RETRY_WAITS: Final = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
"""Waits between attempts, each with jitter: a bit more than three days in all."""
DISABLE_AFTER: Final = timedelta(days=5)
"""Time of uninterrupted failure after which a webhook is disabled."""
SECRET_OVERLAP: Final = timedelta(hours=24)
"""Time for which the former secret signs in addition to the new one."""
MAX_STORED_ATTEMPTS: Final = 20


class DisabledCause(StrEnum):
    """Cause of a disabled webhook."""

    REQUESTED = "requested"
    GONE = "gone"
    """The receiver answered 410."""
    FAILING = "failing"
    """Five days of uninterrupted failure."""
    BACKLOG = "backlog"
    """The receiver is slower than events arrive, and its backlog is too long."""


NO_KEY: Final = "key"
"""Value of `blocked` where the delivering node has no key to decrypt the signing secret."""


class Webhook(NamedTuple):
    """`types` are patterns such as `run.*`; without any, all events match. `since` is the position in the event log after which
    deliveries begin.

    `secret` is the number of the signing secret; the `former` one signs too until `former_until`.
    """

    id: str
    owner: str
    url: str
    created: datetime
    since: int
    types: tuple[str, ...] = ()
    note: str = ""
    disabled: DisabledCause | None = None
    disabled_at: datetime | None = None
    failing_since: datetime | None = None
    secret: int = 1
    former: int | None = None
    former_until: datetime | None = None
    after: int = 0
    """`since` in the owner's own numbering: the number of the owner's last event before it."""
    blocked: tuple[str, ...] = ()
    """Networks of its URL that the delivering node does not allow; or `NO_KEY`."""
    version: int = 1

    @property
    def enabled(self) -> bool:
        return self.disabled is None

    def matches(self, event: Event) -> bool:
        return event.owner == self.owner and (
            not self.types or any(fnmatchcase(event.kind, pattern) for pattern in self.types)
        )

    def secrets_at(self, now: datetime) -> tuple[int, ...]:
        """Return the numbers of the signing secrets, the newest first."""
        if self.former is None or self.former_until is None or self.former_until <= now:
            return (self.secret,)
        return self.secret, self.former


class DeliveryState(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """All attempts failed; there are no more."""


class Attempt(NamedTuple):
    """`status` is None without a response; `answer` is the beginning of the response body, or the error.

    `blocked` are networks that the node does not allow, or `NO_KEY`: nothing was sent. `delivered`: a service that has
    no HTTP status accepted it.
    """

    at: datetime
    status: int | None
    answer: str
    blocked: tuple[str, ...] = ()
    delivered: bool = False

    @property
    def ok(self) -> bool:
        return self.delivered or (self.status is not None and 200 <= self.status < 300)


class Delivery(NamedTuple):
    """`message` is the message id, the same for all attempts. `due` is the instant of the next attempt, if any."""

    id: str
    webhook: str
    owner: str
    message: str
    kind: str
    task_id: str
    body: str
    created: datetime
    state: DeliveryState = DeliveryState.PENDING
    due: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    tried: int = 0
    """Number of scheduled attempts used up; attempts on request do not count."""
    version: int = 1


def delivery_id(event_at: datetime, number: int) -> str:
    """Return a delivery id that is the same for the same event, and sorts in event order."""
    return f"dlv_{max(0, to_microseconds(event_at)):014x}{number:012x}"


def retry_at(delivery: Delivery, now: datetime) -> datetime | None:
    """Return the instant of the next attempt, with deterministic jitter of ±10 %; None after the last attempt."""
    if delivery.tried > len(RETRY_WAITS):
        return None
    return now + RETRY_WAITS[delivery.tried - 1] * (0.9 + 0.2 * hash_fraction(f"{delivery.id}/{delivery.tried}"))


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
    blocked, is_delivered = tuple(body.get("blocked", ())), body.get("delivered", False)
    return Attempt(_parse_instant(body["at"]), body["status"], body["answer"], blocked, is_delivered)


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
