"""Delivery: one text for a chat, as a value and as a record, and how its state changes; pure.

A delivery that is not finished has the kind `PENDING_KIND`. When it is sent or has failed, its record moves to
`FINISHED_KIND` in one write, so that a sender reads only what is left to do. Ids ascend with time: the texts of a chat are
sent in the order of their ids.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ..events.event import Event, EventKind
from ..record import Record, RecordWrite

PENDING_KIND: Final = "delivery.pending"
FINISHED_KIND: Final = "delivery.finished"
DELIVERY_PREFIX: Final = "dlv"
MAX_PENDING: Final = 1_000
"""Deliveries of one owner that wait at once."""
SEND_WINDOW: Final = timedelta(hours=24)
"""A delivery that could not be sent for so long has failed."""
FINISHED_RETENTION: Final = timedelta(days=30)
REPORT_AFTER: Final = timedelta(minutes=1)
"""A delay is reported once the next attempt would be so long after the delivery was made."""
MAX_BACKOFF: Final = timedelta(minutes=15)
_FIRST_BACKOFF: Final = timedelta(seconds=1)
_MAX_DOUBLINGS: Final = 10
MAX_PROBLEM_CHARACTERS: Final = 500


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    """The service has accepted every part."""
    RECEIVED = "received"
    """The service reports that it has arrived."""
    READ = "read"
    FAILED = "failed"


_RANKS: Final = {DeliveryState.SENT: 1, DeliveryState.RECEIVED: 2, DeliveryState.READ: 3}


class UncertainPolicy(StrEnum):
    """What to do with a part when no answer came, so that it may have arrived, and the service drops no repetition."""

    REPEAT = "repeat"
    """Send it again: it may be shown twice."""
    FAIL = "fail"
    """Never send it again: it may be missing."""


class Delivery(NamedTuple):
    """`owner` is that of the group, `chat` the address `channel:id`. `origin` names the run or the request that sent it.

    `parts` are the ids that the service gave to the parts it has accepted. `problem` is the last error, in words.
    `failures` are the attempts in a row that sent no part. `uncertain_since`: the instant of an attempt at the next part that had
    no answer, so that the part may have arrived; `repeated_parts` were sent again after that, and may be shown twice.
    `is_reported`: its delay is in the event log. `retried` is when a person had it sent again. `message_id` identifies the
    message of the assistant in the stream of the chat, where the chat has one.
    """

    id: str
    owner: str
    chat: str
    text: str
    created: datetime
    origin: str = ""
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    parts: tuple[str, ...] = ()
    not_before: datetime | None = None
    ended: datetime | None = None
    problem: str = ""
    failures: int = 0
    uncertain_since: datetime | None = None
    repeated_parts: int = 0
    is_reported: bool = False
    retried: datetime | None = None
    message_id: str = ""
    version: int = 1

    @property
    def channel(self) -> str:
        return self.chat.partition(":")[0]

    @property
    def is_pending(self) -> bool:
        return self.state is DeliveryState.PENDING

    @property
    def deadline(self) -> datetime:
        """The instant of the last attempt."""
        return (self.retried or self.created) + SEND_WINDOW

    def is_due(self, now: datetime) -> bool:
        return self.is_pending and (self.not_before is None or self.not_before <= now)


_INSTANTS: Final = ("created", "not_before", "ended", "uncertain_since", "retried")


def delivery_record(delivery: Delivery, expires: datetime | None = None) -> Record:
    body = delivery._asdict()
    for name in ("id", "owner", "version"):
        del body[name]
    for name in _INSTANTS:
        body[name] = None if body[name] is None else body[name].isoformat()
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    kind = PENDING_KIND if delivery.is_pending else FINISHED_KIND
    return Record(kind, delivery.id, delivery.owner, text, delivery.version, expires)


def delivery_from(record: Record) -> Delivery:
    body: dict[str, Any] = json.loads(record.body)
    for name in _INSTANTS:
        body[name] = None if body.get(name) is None else datetime.fromisoformat(body[name])
    body["state"] = DeliveryState(body["state"])
    body["parts"] = tuple(body["parts"])
    return Delivery(id=record.key, owner=record.owner, version=record.version, **body)


def add_delivery(delivery: Delivery) -> RecordWrite:
    """Return the write that adds a delivery; with a run it commits with the result that it delivers."""
    return RecordWrite(delivery_record(delivery))


def finish_delivery(before: Delivery, after: Delivery, expires: datetime) -> tuple[RecordWrite, RecordWrite]:
    """Return the writes that move a pending delivery to the finished ones."""
    return (
        RecordWrite(delivery_record(before), before.version, dropped=True),
        RecordWrite(delivery_record(after._replace(version=1), expires)),
    )


def replace_delivery(before: Delivery, after: Delivery, now: datetime) -> tuple[RecordWrite, ...]:
    """Return the writes that replace a delivery by its next state, whichever kind either has."""
    expires = None if after.is_pending else (after.ended or now) + FINISHED_RETENTION
    if before.is_pending and not after.is_pending:
        return finish_delivery(before, after, (after.ended or now) + FINISHED_RETENTION)
    if after.is_pending and not before.is_pending:
        return (
            RecordWrite(delivery_record(before), before.version, dropped=True),
            RecordWrite(delivery_record(after._replace(version=1))),
        )
    return (RecordWrite(delivery_record(after, expires), before.version),)


# --- changes of state -----------------------------------------------------------------------------------------------------


def with_part(delivery: Delivery, part: str, chat: str) -> Delivery:
    """Return the delivery after the service has accepted its next part; `chat` is where the rest goes."""
    return delivery._replace(
        chat=chat,
        parts=(*delivery.parts, part),
        failures=0,
        not_before=None,
        problem="",
        uncertain_since=None,
        repeated_parts=delivery.repeated_parts + (delivery.uncertain_since is not None),
    )


def as_sent(delivery: Delivery, now: datetime) -> Delivery:
    return delivery._replace(state=DeliveryState.SENT, ended=now, not_before=None, problem="")


def as_failed(delivery: Delivery, now: datetime, problem: str) -> Delivery:
    return delivery._replace(
        state=DeliveryState.FAILED, ended=now, not_before=None, problem=problem[:MAX_PROBLEM_CHARACTERS]
    )


def as_delayed(
    delivery: Delivery, now: datetime, after: timedelta, problem: str, *, is_uncertain: bool = False
) -> Delivery:
    """Return the delivery after an attempt that sent nothing more: it waits, or has failed if its time is over.

    It waits as long as the service asks for, and longer with each attempt in a row that sent no part.
    """
    if now >= delivery.deadline:
        return as_failed(delivery, now, problem)
    doublings = min(delivery.failures, _MAX_DOUBLINGS)
    wait = max(after, min(MAX_BACKOFF, _FIRST_BACKOFF * 2**doublings))
    return delivery._replace(
        failures=delivery.failures + 1,
        not_before=min(now + wait, delivery.deadline),
        problem=problem[:MAX_PROBLEM_CHARACTERS],
        uncertain_since=delivery.uncertain_since or (now if is_uncertain else None),
    )


def may_repeat(delivery: Delivery, now: datetime, policy: UncertainPolicy, window: timedelta) -> bool:
    """Whether the next part may be sent now; `window` is how long the service drops a repetition by its key."""
    since = delivery.uncertain_since
    return since is None or policy is UncertainPolicy.REPEAT or now - since < window


def as_retried(delivery: Delivery, now: datetime) -> Delivery:
    """Return a failed delivery as one to be sent now, from the first part that was not accepted."""
    return delivery._replace(
        state=DeliveryState.PENDING,
        ended=None,
        not_before=None,
        failures=0,
        is_reported=False,
        retried=now,
    )


def with_receipt(delivery: Delivery, part: str, state: DeliveryState, now: datetime, problem: str = "") -> Delivery:
    """Return the delivery after the service reported on one of its parts.

    One failed part makes it a failed delivery. It is received, or read, when its last part is; a late receipt does not undo
    a later one.
    """
    if part not in delivery.parts or delivery.state is DeliveryState.FAILED:
        return delivery
    if state is DeliveryState.FAILED:
        return as_failed(delivery, now, problem)
    is_last = part == delivery.parts[-1] and not delivery.is_pending
    return delivery._replace(state=state) if is_last and _RANKS[state] > _RANKS[delivery.state] else delivery


# --- events ---------------------------------------------------------------------------------------------------------------


def needs_report(delivery: Delivery) -> bool:
    """Whether the delay of a delivery should be reported: once, and not for the pauses of an ordinary rate limit."""
    since = delivery.retried or delivery.created
    is_late = delivery.not_before is not None and delivery.not_before - since >= REPORT_AFTER
    return delivery.is_pending and is_late and not delivery.is_reported


def delivery_event(delivery: Delivery, at: datetime) -> Event:
    """Return the event for the present state of a delivery."""
    facts = {"delivery": delivery.id, "chat": delivery.chat, "state": delivery.state.value, "origin": delivery.origin}
    if delivery.is_pending:
        kind = EventKind.DELIVERY_DELAYED
    else:
        kind = EventKind.DELIVERY_FAILED if delivery.state is DeliveryState.FAILED else EventKind.DELIVERY_SENT
    if kind is not EventKind.DELIVERY_SENT:
        facts["problem"] = delivery.problem
    detail = json.dumps({name: value for name, value in facts.items() if value}, ensure_ascii=False)
    return Event(kind, at, delivery.owner, "", None, detail)
