"""One hand that sends: what is due at one address, a few at a time, and what came of each is written down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, Protocol
from urllib.parse import urlsplit

from ...clock import Clock
from ...errors import Conflict, StoreError
from ...model.change import Change, Facts
from ...model.events.event import Event, EventKind
from ...model.events.webhook import (
    GIVES_UP_AFTER,
    MOST_ATTEMPTS_KEPT,
    NO_KEY,
    Attempt,
    Delivery,
    DeliveryState,
    Disabled,
    Webhook,
    retry_at,
)
from ...model.events.webhook_records import (
    DELIVERY,
    DUE,
    WEBHOOK,
    delivery_from,
    delivery_key,
    due_of,
    rewritten,
    webhook_from,
    webhook_record,
)
from ...model.page import LARGEST_PAGE
from ...model.record import Record, Writing
from ...outgoing.refusals import refuse_address
from ...ports.records import Records
from ...ports.store import Book
from ...store_retry import StoreRetry
from .delivery import Postman
from .refusals import refuse

AT_ONCE: Final = 4
MOST_WAITING: Final = 10_000
"""What waits for one address; an address that takes less than happens is told of nothing more."""
LONGEST_REST: Final = 30.0
GONE: Final = 410
LOG: Final = logging.getLogger("horae")


class Keeping(Book, Records, Protocol):
    """What is asked of the store."""


class Endpoint:
    webhook: Webhook

    def __init__(self, store: Keeping, postman: Postman, clock: Clock) -> None:
        self.on_attempt: Callable[[bool], None] = lambda _ok: None
        self._store = store
        self._postman = postman
        self._clock = clock
        self._bell = asyncio.Event()
        # The courier of all endpoints logs the same outage for all of them.
        self._retry = StoreRetry("delivery to a webhook", clock, level=logging.DEBUG)
        self._unblocked = False
        self._waiting = 0
        """What was written down for it by this process and has not ended."""

    def expect(self, number: int) -> None:
        """So many more are to be sent."""
        self._waiting += number
        self._bell.set()

    async def step(self) -> datetime | None:
        """What is due now, a few at once; when the next is."""
        if self.webhook.blocked and not self._unblocked:
            await self._unblock()
        due, following = await self._due()
        await asyncio.gather(*(self._send(record) for record in due))
        return self._clock.now() if len(due) == AT_ONCE else following

    async def _unblock(self) -> None:
        """Send now what waits only because an earlier node could not call the address, if this one can."""
        self._unblocked = True
        if not self._postman.allows(self.webhook.url, self.webhook.blocked):
            return
        begin = after = f"{self.webhook.id}/"
        now, more = self._clock.now(), True
        while more:
            page = await self._store.records(DUE, self.webhook.owner, after, LARGEST_PAGE)
            for queued in page.items:
                more = queued.key.startswith(begin)
                if not more:
                    return
                await self._hasten(queued, now)
            more, after = page.after is not None, page.after or ""

    async def _hasten(self, queued: Record, now: datetime) -> None:
        due, name = due_of(queued.key)
        record = await self._store.get_record(DELIVERY, delivery_key(self.webhook.id, name))
        before = None if record is None else delivery_from(record)
        if before is not None and before.due == due and due > now:
            await self._store.write_records(rewritten(before, before._replace(due=now)))

    async def run(self) -> None:
        while self.webhook.enabled:
            self._bell.clear()
            try:
                following = await self.step()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            await self._rest(following)

    async def _rest(self, following: datetime | None) -> None:
        wait = LONGEST_REST if following is None else (following - self._clock.now()).total_seconds()
        if wait > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait, LONGEST_REST)):
                    await self._bell.wait()

    async def _due(self) -> tuple[list[Record], datetime | None]:
        """The first few of its queue that are due, and when the one after them is."""
        begin = f"{self.webhook.id}/"
        page = await self._store.records(DUE, self.webhook.owner, begin, AT_ONCE + 1)
        mine = [record for record in page.items if record.key.startswith(begin)]
        now = self._clock.now()
        due = [record for record in mine if due_of(record.key)[0] <= now][:AT_ONCE]
        return due, None if len(mine) == len(due) else due_of(mine[len(due)].key)[0]

    async def _send(self, queued: Record) -> None:
        key = delivery_key(self.webhook.id, due_of(queued.key)[1])
        record = await self._store.get_record(DELIVERY, key)
        before = None if record is None else delivery_from(record)
        if before is None or before.due is None or due_of(queued.key)[0] != before.due:
            # Somebody has sent it by hand meanwhile, or nobody keeps it any more.
            await self._store.drop_record(DUE, queued.key, queued.version)
            return
        attempt = await self._postman.bring(self.webhook, before)
        self.on_attempt(attempt.ok)
        after = _after(before, attempt, self._clock.now())
        if await self._store.write_records(rewritten(before, after)):
            self._waiting -= after.due is None
            await self._judge(after, attempt)

    async def _judge(self, delivery: Delivery, attempt: Attempt) -> None:
        """What this attempt says of the address as a whole."""
        now, since = self._clock.now(), self.webhook.failing_since
        if attempt.status == GONE:
            await self._disable(Disabled.GONE, delivery)
        elif self._waiting > MOST_WAITING:
            await self._disable(Disabled.BACKLOG, delivery)
        elif attempt.ok:
            if since is not None:
                await self._change(lambda webhook: webhook._replace(failing_since=None, blocked=()))
        elif attempt.blocked and attempt.blocked != self.webhook.blocked:
            await self._block(attempt, delivery)
        elif since is None or attempt.blocked != self.webhook.blocked:
            first = since or now
            await self._change(lambda webhook: webhook._replace(failing_since=first, blocked=attempt.blocked))
        elif now - since >= GIVES_UP_AFTER:
            await self._disable(Disabled.FAILING, delivery)

    async def _disable(self, why: Disabled, delivery: Delivery) -> None:
        now = self._clock.now()
        told = _event(EventKind.WEBHOOK_DISABLED, now, delivery, why.value)
        if await self._change(lambda webhook: webhook._replace(disabled=why, disabled_at=now), told):
            LOG.warning("the webhook %s is disabled: %s", self.webhook.id, why.value)

    async def _block(self, attempt: Attempt, delivery: Delivery) -> None:
        """Record that this node may not call the address, and which networks an operator would have to allow."""
        now = self._clock.now()
        told = _event(EventKind.WEBHOOK_BLOCKED, now, delivery, ",".join(attempt.blocked))

        def block(webhook: Webhook) -> Webhook:
            return webhook._replace(failing_since=webhook.failing_since or now, blocked=attempt.blocked)

        if await self._change(block, told):
            said = {"chinese": f"此节点不能投递到 webhook {self.webhook.id}：{self._blocked_in_chinese(attempt)}"}
            LOG.warning("this node may not deliver to the webhook %s: %s", self.webhook.id, attempt.answer, extra=said)

    def _blocked_in_chinese(self, attempt: Attempt) -> str:
        """The same as the answer of the attempt, which is kept in English."""
        host = urlsplit(self.webhook.url).hostname or ""
        is_key = NO_KEY in attempt.blocked
        refusal = refuse("webhook_without_key", host=host) if is_key else refuse_address(host, attempt.blocked)
        message, hint = refusal.in_language("zh")
        return f"{message}{hint}"

    async def _change(self, change: Callable[[Webhook], Webhook], told: Event | None = None) -> bool:
        """As somebody else may just have changed it, it is read anew; whoever is faster is right."""
        record = await self._store.get_record(WEBHOOK, self.webhook.id)
        if record is None:
            return False
        webhook = webhook_from(record)
        after = change(webhook)
        if not webhook.enabled or after == webhook:
            self.webhook = webhook
            return False
        if not await self._written(Writing(webhook_record(after), webhook.version), told):
            return False
        self.webhook = after._replace(version=webhook.version + 1)
        return True

    async def _written(self, writing: Writing, told: Event | None) -> bool:
        """The event goes to the owner's other webhooks too, with the task of the delivery."""
        if told is None or not told.task_id:
            return await self._store.write_records([writing])

        def tell(_: Facts) -> Change:
            return Change(events=(told,), beside=(writing,))

        try:
            found = await self._store.change(told.task_id, told.owner, tell)
        except Conflict:
            return False
        return found is not None or await self._store.write_records([writing])


def _event(kind: EventKind, now: datetime, delivery: Delivery, why: str) -> Event:
    return Event(kind, now, delivery.owner, delivery.task_id, None, f"{delivery.webhook} {why}")


def _after(delivery: Delivery, attempt: Attempt, now: datetime) -> Delivery:
    tried = delivery._replace(
        attempts=(*delivery.attempts, attempt)[-MOST_ATTEMPTS_KEPT:], tried=delivery.tried + 1, due=None
    )
    if attempt.ok:
        return tried._replace(state=DeliveryState.DELIVERED)
    due = retry_at(tried, now)
    return tried._replace(due=due, state=DeliveryState.FAILED if due is None else DeliveryState.PENDING)
