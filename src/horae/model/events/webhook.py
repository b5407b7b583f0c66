"""A webhook: an address that is told of what happens. And its deliveries: what was to be told there, and what came of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ..ids import microseconds, share_of
from .event import Event

KEPT: Final = timedelta(days=7)
"""How long a delivery can be looked at, and sent again."""
RETRIES: Final = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
"""The waits between attempts, a little longer or shorter each: a bit more than three days in all."""
GIVES_UP_AFTER: Final = timedelta(days=5)
"""So long of nothing but failure, and nothing more is sent there."""
ROTATION: Final = timedelta(hours=24)
"""So long a former secret signs beside the new one."""
MOST_ATTEMPTS_KEPT: Final = 20


class Disabled(StrEnum):
    """Why nothing is sent there."""

    REQUESTED = "requested"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"
    """Five days of nothing but failure."""
    BACKLOG = "backlog"
    """It takes less than happens, and too much waits for it."""


NO_KEY: Final = "key"
"""Stands in `blocked` where the node that delivers has no key for the secret that signs."""


class Webhook(NamedTuple):
    """`types` are patterns such as `run.*`; none of them means everything. `since` is the position in the log after which it begins.

    `secret` is the number of the secret that signs; a former one signs beside it until `former_until`.
    """

    id: str
    owner: str
    url: str
    created: datetime
    since: int
    types: tuple[str, ...] = ()
    note: str = ""
    disabled: Disabled | None = None
    disabled_at: datetime | None = None
    failing_since: datetime | None = None
    secret: int = 1
    former: int | None = None
    former_until: datetime | None = None
    after: int = 0
    """`since` as its owner counts: the number of the owner's last event before it."""
    blocked: tuple[str, ...] = ()
    """Networks of its address that the node which delivers does not allow; or `NO_KEY`."""
    version: int = 1

    @property
    def enabled(self) -> bool:
        return self.disabled is None

    def takes(self, event: Event) -> bool:
        return event.owner == self.owner and (
            not self.types or any(fnmatchcase(event.kind, pattern) for pattern in self.types)
        )

    def secrets_at(self, now: datetime) -> tuple[int, ...]:
        """The numbers of those that sign now, the newest first."""
        if self.former is None or self.former_until is None or self.former_until <= now:
            return (self.secret,)
        return self.secret, self.former


class DeliveryState(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Every attempt failed, and there will be no other."""


class Attempt(NamedTuple):
    """`status` is None when there was no answer; `answer` is the beginning of what was said, or what went wrong.

    `blocked` are networks that the node does not allow, or `NO_KEY`: nothing was sent.
    """

    at: datetime
    status: int | None
    answer: str
    blocked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Delivery(NamedTuple):
    """`message` names what is told: the same over all attempts. `due` is when the next attempt is, if there is one."""

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
    """How many attempts of the plan are used up; those that somebody asked for do not count."""
    version: int = 1


def delivery_id(event_at: datetime, number: int) -> str:
    """The same whenever it is made for the same event; in the order in which things happened."""
    return f"dlv_{max(0, microseconds(event_at)):014x}{number:012x}"


def retry_at(delivery: Delivery, now: datetime) -> datetime | None:
    """When to try again after so many attempts; None when those were all. Neighbours do not march in step."""
    if delivery.tried > len(RETRIES):
        return None
    return now + RETRIES[delivery.tried - 1] * (0.9 + 0.2 * share_of(f"{delivery.id}/{delivery.tried}"))
