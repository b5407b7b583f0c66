"""Sender of one destination: merges the notices that are due into one message, and holds them in its quiet hours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...model.events.destination import (
    DESTINATION_KIND,
    IMMEDIATE_OCCASIONS,
    Destination,
    Occasion,
    destination_from,
    destination_key,
    destination_record,
    notice_from,
)
from ...model.events.webhook import (
    DELIVERY_KIND,
    DUE_KIND,
    Attempt,
    Delivery,
    changed_delivery_writes,
    delivery_from,
    delivery_key,
    parse_due_key,
)
from ...model.record import Record, RecordWrite
from ...ports.full_store import FullStore
from .message_client import MessageClient
from .queue_sender import QueueSender
from .webhook_sender import apply_attempt

MAX_DIGEST: Final = 200
"""Notices of one message; the rest follows with the next one."""


class NoticeSender(QueueSender):
    """A message is at least once: after a crash between sending and recording it is sent again."""

    destination: Destination

    def __init__(self, store: FullStore, client: MessageClient, clock: Clock) -> None:
        super().__init__(store, clock, "messages to a destination")
        self._client = client
        self._is_new = True

    @property
    def is_active(self) -> bool:
        return True

    async def step(self) -> datetime | None:
        """Send the due notices as one message, and due reminders as another; return when the next one is due.

        Once one is due, everything that waits goes with it: after an outage of the service one digest arrives, not one
        message per retry.
        """
        queued = await self._queued()
        now = self._clock.now()
        is_unblocked = self._unblock(queued, now)
        if not queued or (parse_due_key(queued[0].key)[0] > now and not is_unblocked):
            return parse_due_key(queued[0].key)[0] if queued else None
        loaded = [each for each in await asyncio.gather(*map(self._load, queued)) if each is not None]
        reminders = [each for each in loaded if _is_immediate(each)]
        others = [each for each in loaded if not _is_immediate(each)]
        if is_unblocked or _has_due(reminders, now):
            await self._send(reminders)
        if is_unblocked or _has_due(others, now):
            await self._send_or_hold(others, now)
        queued = await self._queued()
        return parse_due_key(queued[0].key)[0] if queued else None

    async def _queued(self) -> list[Record]:
        prefix = f"{self.destination.id}/"
        page = await self._store.records(DUE_KIND, self.destination.owner, prefix, MAX_DIGEST)
        return [record for record in page.items if record.key.startswith(prefix)]

    async def _load(self, queued: Record) -> Delivery | None:
        due, name = parse_due_key(queued.key)
        record = await self._store.get_record(DELIVERY_KIND, delivery_key(self.destination.id, name))
        delivery = None if record is None else delivery_from(record)
        if delivery is None or delivery.due != due:
            # Its record was removed, or another process has sent it meanwhile.
            await self._store.drop_record(DUE_KIND, queued.key, queued.version)
            return None
        return delivery

    async def _send_or_hold(self, deliveries: Sequence[Delivery], now: datetime) -> None:
        ready_at = self.destination.ready_at(now)
        if ready_at <= now:
            await self._send(deliveries)
        else:
            await self._write(deliveries, lambda each: each._replace(due=max(each.due or ready_at, ready_at)))

    def _unblock(self, queued: Sequence[Record], now: datetime) -> bool:
        """Whether to try at once what waits because an earlier node was not allowed to call the address."""
        is_first, self._is_new = self._is_new, False
        return is_first and bool(queued and self.destination.blocked) and self.destination.ready_at(now) <= now

    async def _send(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        in_order = sorted(deliveries, key=lambda each: each.id)
        attempt = await self._client.deliver(self.destination, [notice_from(each.body) for each in in_order])
        self.on_attempt(attempt.ok)
        now = self._clock.now()

        def apply(delivery: Delivery) -> Delivery:
            # A failed attempt that another notice caused uses up none of this one's.
            is_tried = attempt.ok or _has_due([delivery], now)
            return apply_attempt(delivery, attempt, now) if is_tried else delivery

        await self._write(in_order, apply)
        await self._record_attempt(attempt, is_notice=not _is_immediate(in_order[0]))

    async def _write(self, deliveries: Iterable[Delivery], change: Callable[[Delivery], Delivery]) -> None:
        pairs = [(before, after) for before in deliveries if (after := change(before)) != before]
        writes = [write for before, after in pairs for write in changed_delivery_writes(before, after)]
        if await self._store.write_records(writes):
            self._pending -= sum(1 for _, after in pairs if after.due is None)

    async def _record_attempt(self, attempt: Attempt, *, is_notice: bool) -> None:
        """Show the result at the destination; a concurrent edit of it wins, because the delivery has it too."""
        key = destination_key(self.destination.owner, self.destination.name)
        record = await self._store.get_record(DESTINATION_KIND, key)
        if record is None:
            return
        before = destination_from(record)
        after = with_attempt(before, attempt)
        if is_notice:
            after = after._replace(last_notice_at=attempt.at)
        if await self._store.write_records([RecordWrite(destination_record(after), before.version)]):
            self.destination = after._replace(version=before.version + 1)


def with_attempt(destination: Destination, attempt: Attempt) -> Destination:
    failing_since = None if attempt.ok else destination.failing_since or attempt.at
    return destination._replace(
        failing_since=failing_since,
        blocked=attempt.blocked,
        last_at=attempt.at,
        last_ok=attempt.ok,
        last_answer=attempt.answer,
    )


def _has_due(deliveries: Sequence[Delivery], now: datetime) -> bool:
    return any(each.due is not None and each.due <= now for each in deliveries)


def _is_immediate(delivery: Delivery) -> bool:
    return Occasion(delivery.kind.partition(".")[2]) in IMMEDIATE_OCCASIONS
