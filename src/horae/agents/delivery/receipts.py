"""Applies the receipts of chat services to deliveries, also those that arrive before the sent part is recorded.

Receipts may arrive in another process than the one that sends: a receipt without a delivery is kept as a record, which the
sender reads after it has recorded a part. Each side writes first and then looks for what the other has written, so that no
receipt is lost between them.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from datetime import timedelta
from typing import Any, Final

from ...clock import Clock
from ...model.agents.delivery import FINISHED_KIND, PENDING_KIND, Delivery, DeliveryState, delivery_from, with_receipt
from ...model.record import Record
from ...ports.channel import DeliveryReceipt, ReceiptState, Sent
from ...ports.records import Records
from ...service.chats.delivery_records import DeliveryRecords

RECEIPT_KIND: Final = "delivery.receipt"
"""Kind of the record of receipts without a delivery; its key is the channel and the id of the part."""
REMEMBERED: Final = 10_000
"""Sent parts whose delivery is known without a search."""
SEARCHED: Final = 200
"""Newest deliveries of each kind among which the one of a part is searched."""
KEPT_FOR: Final = timedelta(hours=1)
_MAX_RECEIPTS: Final = 10
_TRIES: Final = 20
_STATES: Final = {
    ReceiptState.DELIVERED: DeliveryState.RECEIVED,
    ReceiptState.READ: DeliveryState.READ,
    ReceiptState.FAILED: DeliveryState.FAILED,
}


class Receipts:
    def __init__(self, store: Records, records: DeliveryRecords, clock: Clock) -> None:
        self._store = store
        self._records = records
        self._clock = clock
        self._parts: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def on_part(self, delivery: Delivery, sent: Sent) -> None:
        """Remember the delivery of a part, and apply the receipts that came before."""
        self._remember(delivery.channel, sent.id, delivery.id)
        record = await self._store.get_record(RECEIPT_KIND, _key(delivery.channel, sent.id))
        if record is None:
            return
        for state, problem in json.loads(record.body):
            await self._apply(delivery.id, sent.id, DeliveryState(state), problem)
        await self._store.drop_record(RECEIPT_KIND, record.key, record.version)

    async def on_receipt(self, channel: str, receipt: DeliveryReceipt) -> None:
        """Apply what a service reports of a text, or keep it for the sender."""
        state = _STATES[receipt.state]
        problem = "" if receipt.refusal is None else receipt.refusal.in_language("en").message
        delivery_id = await self._find(channel, receipt.id)
        if delivery_id is None:
            await self._keep(_key(channel, receipt.id), [state.value, problem])
            delivery_id = await self._find(channel, receipt.id)
        if delivery_id is not None:
            await self._apply(delivery_id, receipt.id, state, problem)

    async def _find(self, channel: str, part: str) -> str | None:
        """Return the delivery of a part; one of another process, or before the start, is searched among the newest."""
        known = self._parts.get((channel, part))
        if known is not None:
            return known
        for kind in (PENDING_KIND, FINISHED_KIND):
            page = await self._store.records(kind, limit=SEARCHED, newest=True)
            for delivery in map(delivery_from, page.items):
                if delivery.channel == channel and part in delivery.parts:
                    self._remember(channel, part, delivery.id)
                    return delivery.id
        return None

    async def _keep(self, key: str, receipt: list[Any]) -> None:
        for _ in range(_TRIES):
            known = await self._store.get_record(RECEIPT_KIND, key)
            receipts = [] if known is None else json.loads(known.body)
            body = json.dumps([*receipts, receipt][-_MAX_RECEIPTS:], ensure_ascii=False)
            record = Record(RECEIPT_KIND, key, "", body, expires=self._clock.now() + KEPT_FOR)
            if await self._store.put_record(record, replacing=None if known is None else known.version):
                return

    async def _apply(self, delivery_id: str, part: str, state: DeliveryState, problem: str) -> None:
        now = self._clock.now()
        await self._records.change(delivery_id, now, lambda found: with_receipt(found, part, state, now, problem))

    def _remember(self, channel: str, part: str, delivery_id: str) -> None:
        self._parts[channel, part] = delivery_id
        if len(self._parts) > REMEMBERED:
            self._parts.popitem(last=False)


def _key(channel: str, part: str) -> str:
    return f"{channel}:{part}"[:200]
