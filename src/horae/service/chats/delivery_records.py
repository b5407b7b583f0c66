"""Deliveries in the store: read, add within the limit of an owner, and change with their events, by compare-and-set."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from ...model.agents.delivery import (
    DELIVERY_PREFIX,
    FINISHED_KIND,
    MAX_PENDING,
    PENDING_KIND,
    Delivery,
    add_delivery,
    as_failed,
    delivery_event,
    delivery_from,
    needs_report,
    replace_delivery,
)
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.record import Record, RecordWrite
from ...ports.records import Records

_TRIES: Final = 20


class DeliveryContested(Exception):  # noqa: N818 - it says what happened
    """Other writers were faster each time."""


class DeliveryIds:
    """Ids that ascend in this process, also within a millisecond and when the clock is set back."""

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy
        self._last = ""

    def next(self, now: datetime) -> str:
        made = make_id(DELIVERY_PREFIX, now, self._entropy(ENTROPY_BYTES))
        if made <= self._last:
            digits = self._last.removeprefix(f"{DELIVERY_PREFIX}_")
            made = f"{DELIVERY_PREFIX}_{int(digits, 16) + 1:0{len(digits)}x}"
        self._last = made
        return made


async def count_room(records: Records, owner: str) -> int:
    """Return how many more deliveries of this owner may wait."""
    page = await records.records(PENDING_KIND, owner, limit=MAX_PENDING)
    return MAX_PENDING - len(page.items)


class DeliveryQueue:
    """Makes the deliveries of all texts of a process, whichever part of it sends them: their ids ascend in this order."""

    def __init__(self, records: Records, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._records = records
        self._ids = DeliveryIds(entropy)

    def make(
        self, owner: str, chat: str, text: str, now: datetime, origin: str, message_id: str | None = None
    ) -> Delivery:
        """Return a new delivery; without a message id, its own id identifies the message too."""
        made = self._ids.next(now)
        return Delivery(made, owner, chat, text, now, origin, message_id=made if message_id is None else message_id)

    async def writes(self, deliveries: Sequence[Delivery]) -> list[RecordWrite]:
        """Return the writes that add deliveries of one owner, for the transaction of the caller.

        What exceeds the texts of its owner that may wait is added as failed, so that nothing is lost silently.
        """
        if not deliveries:
            return []
        room = await count_room(self._records, deliveries[0].owner)
        return [add_delivery(each) if place < room else _rejected(each) for place, each in enumerate(deliveries)]


def _rejected(delivery: Delivery) -> RecordWrite:
    failed = as_failed(delivery, delivery.created, f"{MAX_PENDING} texts of this group wait to be sent already")
    return replace_delivery(delivery, failed, delivery.created)[-1]


class DeliveryRecords:
    """Changes of deliveries; each is written together with the event that reports it."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def pending(self, delivery_id: str) -> Delivery | None:
        return _read(await self._records.get_record(PENDING_KIND, delivery_id))

    async def get(self, delivery_id: str, owner: str | None = None) -> Delivery | None:
        """Return a delivery in any state; None for an absent one, or one of another owner."""
        for kind in (PENDING_KIND, FINISHED_KIND, PENDING_KIND):
            # Between the two reads a retry may have moved it back.
            found = _read(await self._records.get_record(kind, delivery_id, owner))
            if found is not None:
                return found
        return None

    async def change(
        self, delivery_id: str, now: datetime, change: Callable[[Delivery], Delivery | None]
    ) -> Delivery | None:
        """Apply a change to the stored delivery and return it; None if it is gone, or `change` returns None."""
        for _ in range(_TRIES):
            before = await self.get(delivery_id)
            after = None if before is None else change(before)
            if before is None or after is None or after == before:
                return after
            if await self.write(before, after, now):
                return await self.get(delivery_id)
        raise DeliveryContested(delivery_id)

    async def write(
        self, before: Delivery, after: Delivery, now: datetime, attached: Sequence[RecordWrite] = ()
    ) -> bool:
        """Replace a delivery, with the event of its new state; False if another writer was faster."""
        is_new_state = after.state is not before.state and not after.is_pending
        is_report = needs_report(after)
        if is_report:
            after = after._replace(is_reported=True)
        events = [delivery_event(after, now)] if is_new_state or is_report else []
        return await self._records.write_with_events([*replace_delivery(before, after, now), *attached], events)


def _read(record: Record | None) -> Delivery | None:
    return None if record is None else delivery_from(record)
