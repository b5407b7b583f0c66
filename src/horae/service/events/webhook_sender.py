"""Sender of one webhook: sends due deliveries, records each attempt, and disables a webhook that keeps failing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from ...clock import Clock
from ...errors import Conflict
from ...model.change import Change, Facts
from ...model.events.event import Event, EventKind
from ...model.events.webhook import (
    DELIVERY_KIND,
    DISABLE_AFTER,
    DUE_KIND,
    MAX_STORED_ATTEMPTS,
    NO_KEY,
    WEBHOOK_KIND,
    Attempt,
    Delivery,
    DeliveryState,
    DisabledCause,
    Webhook,
    changed_delivery_writes,
    delivery_from,
    delivery_key,
    parse_due_key,
    retry_at,
    webhook_from,
    webhook_record,
)
from ...model.page import MAX_PAGE_SIZE
from ...model.record import Record, RecordWrite
from ...outgoing.refusals import refuse_address
from ...ports.full_store import FullStore
from .delivery import WebhookClient
from .queue_sender import QueueSender
from .refusals import refuse

MAX_CONCURRENT: Final = 4
MAX_PENDING: Final = 10_000
"""Limit of pending deliveries; a webhook with a larger backlog is disabled."""
HTTP_GONE: Final = 410
LOG: Final = logging.getLogger("horae")


class WebhookSender(QueueSender):
    webhook: Webhook

    def __init__(self, store: FullStore, client: WebhookClient, clock: Clock) -> None:
        super().__init__(store, clock, "delivery to a webhook")
        self._client = client
        self._has_tried_unblock = False

    async def step(self) -> datetime | None:
        """Send the due deliveries, a few concurrently; return when the next delivery is due."""
        if self.webhook.blocked and not self._has_tried_unblock:
            await self._unblock()
        due, next_due = await self._due()
        await asyncio.gather(*(self._send(record) for record in due))
        return self._clock.now() if len(due) == MAX_CONCURRENT else next_due

    async def _unblock(self) -> None:
        """Send deliveries now that wait only because an earlier node could not call the address, if this node can."""
        self._has_tried_unblock = True
        if not self._client.allows(self.webhook.url, self.webhook.blocked):
            return
        prefix = after = f"{self.webhook.id}/"
        now, has_more = self._clock.now(), True
        while has_more:
            page = await self._store.records(DUE_KIND, self.webhook.owner, after, MAX_PAGE_SIZE)
            for queued in page.items:
                has_more = queued.key.startswith(prefix)
                if not has_more:
                    return
                await self._make_due(queued, now)
            has_more, after = page.after is not None, page.after or ""

    async def _make_due(self, queued: Record, now: datetime) -> None:
        due, name = parse_due_key(queued.key)
        record = await self._store.get_record(DELIVERY_KIND, delivery_key(self.webhook.id, name))
        before = None if record is None else delivery_from(record)
        if before is not None and before.due == due and due > now:
            await self._store.write_records(changed_delivery_writes(before, before._replace(due=now)))

    @property
    def is_active(self) -> bool:
        return self.webhook.enabled

    async def _due(self) -> tuple[list[Record], datetime | None]:
        """Return the first deliveries that are due, and when the one after them is."""
        prefix = f"{self.webhook.id}/"
        page = await self._store.records(DUE_KIND, self.webhook.owner, prefix, MAX_CONCURRENT + 1)
        own = [record for record in page.items if record.key.startswith(prefix)]
        now = self._clock.now()
        due = [record for record in own if parse_due_key(record.key)[0] <= now][:MAX_CONCURRENT]
        return due, None if len(own) == len(due) else parse_due_key(own[len(due)].key)[0]

    async def _send(self, queued: Record) -> None:
        key = delivery_key(self.webhook.id, parse_due_key(queued.key)[1])
        record = await self._store.get_record(DELIVERY_KIND, key)
        before = None if record is None else delivery_from(record)
        if before is None or before.due is None or parse_due_key(queued.key)[0] != before.due:
            # It was redelivered manually meanwhile, or its record was removed.
            await self._store.drop_record(DUE_KIND, queued.key, queued.version)
            return
        attempt = await self._client.deliver(self.webhook, before)
        self.on_attempt(attempt.ok)
        after = apply_attempt(before, attempt, self._clock.now())
        if await self._store.write_records(changed_delivery_writes(before, after)):
            self._pending -= after.due is None
            await self._update_webhook(after, attempt)

    async def _update_webhook(self, delivery: Delivery, attempt: Attempt) -> None:
        """Record what this attempt means for the webhook: recovered, failing, blocked or disabled."""
        now, since = self._clock.now(), self.webhook.failing_since
        if attempt.status == HTTP_GONE:
            await self._disable(DisabledCause.GONE, delivery)
        elif self._pending > MAX_PENDING:
            await self._disable(DisabledCause.BACKLOG, delivery)
        elif attempt.ok:
            if since is not None:
                await self._change(lambda webhook: webhook._replace(failing_since=None, blocked=()))
        elif attempt.blocked and attempt.blocked != self.webhook.blocked:
            await self._block(attempt, delivery)
        elif since is None or attempt.blocked != self.webhook.blocked:
            first = since or now
            await self._change(lambda webhook: webhook._replace(failing_since=first, blocked=attempt.blocked))
        elif now - since >= DISABLE_AFTER:
            await self._disable(DisabledCause.FAILING, delivery)

    async def _disable(self, reason: DisabledCause, delivery: Delivery) -> None:
        now = self._clock.now()
        event = _webhook_event(EventKind.WEBHOOK_DISABLED, now, delivery, reason.value)
        if await self._change(lambda webhook: webhook._replace(disabled=reason, disabled_at=now), event):
            LOG.warning("the webhook %s is disabled: %s", self.webhook.id, reason.value)

    async def _block(self, attempt: Attempt, delivery: Delivery) -> None:
        """Record that this node may not call the address, and which networks an operator would have to allow."""
        now = self._clock.now()
        event = _webhook_event(EventKind.WEBHOOK_BLOCKED, now, delivery, ",".join(attempt.blocked))

        def block(webhook: Webhook) -> Webhook:
            return webhook._replace(failing_since=webhook.failing_since or now, blocked=attempt.blocked)

        if await self._change(block, event):
            extra = {"chinese": f"此节点不能投递到 webhook {self.webhook.id}：{self._blocked_in_chinese(attempt)}"}
            LOG.warning("this node may not deliver to the webhook %s: %s", self.webhook.id, attempt.answer, extra=extra)

    def _blocked_in_chinese(self, attempt: Attempt) -> str:
        """Return the answer of the attempt, which is stored in English, in Chinese."""
        host = urlsplit(self.webhook.url).hostname or ""
        is_key = NO_KEY in attempt.blocked
        refusal = refuse("webhook_without_key", host=host) if is_key else refuse_address(host, attempt.blocked)
        message, hint = refusal.in_language("zh")
        return f"{message}{hint}"

    async def _change(self, change: Callable[[Webhook], Webhook], event: Event | None = None) -> bool:
        """Read the webhook again and apply a change to it; return False if another writer was faster."""
        record = await self._store.get_record(WEBHOOK_KIND, self.webhook.id)
        if record is None:
            return False
        webhook = webhook_from(record)
        after = change(webhook)
        if not webhook.enabled or after == webhook:
            self.webhook = webhook
            return False
        if not await self._write_with_event(RecordWrite(webhook_record(after), webhook.version), event):
            return False
        self.webhook = after._replace(version=webhook.version + 1)
        return True

    async def _write_with_event(self, writing: RecordWrite, event: Event | None) -> bool:
        """Write the record together with the event, which the owner's other webhooks receive too."""
        if event is None or not event.task_id:
            return await self._store.write_records([writing])

        def add_event(_: Facts) -> Change:
            return Change(events=(event,), attached=(writing,))

        try:
            facts = await self._store.change(event.task_id, event.owner, add_event)
        except Conflict:
            return False
        return facts is not None or await self._store.write_records([writing])


def _webhook_event(kind: EventKind, now: datetime, delivery: Delivery, reason: str) -> Event:
    return Event(kind, now, delivery.owner, delivery.task_id, None, f"{delivery.webhook} {reason}")


def apply_attempt(delivery: Delivery, attempt: Attempt, now: datetime) -> Delivery:
    tried = delivery._replace(
        attempts=(*delivery.attempts, attempt)[-MAX_STORED_ATTEMPTS:], tried=delivery.tried + 1, due=None
    )
    if attempt.ok:
        return tried._replace(state=DeliveryState.DELIVERED)
    due = retry_at(tried, now)
    return tried._replace(due=due, state=DeliveryState.FAILED if due is None else DeliveryState.PENDING)
