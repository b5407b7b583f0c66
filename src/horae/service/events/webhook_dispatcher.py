"""Dispatch of webhooks and notices: one process at a time, elected by a lease, turns log events into delivery records.

Deliveries are written in the same transaction as the log cursor, so that none is lost and none is written twice. Each
webhook or destination has its own sender task, so that a slow or dead address delays no other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final, NamedTuple, TypeVar

from ...clock import Clock
from ...errors import StoreError
from ...model.accounts.account import OWNER_KIND, owner_from
from ...model.accounts.system_owner import account_of
from ...model.events.destination import DESTINATION_KIND, Destination, destination_from
from ...model.events.event import Event
from ...model.events.webhook import WEBHOOK_KIND, Delivery, Webhook, delivery_id, new_delivery_writes, webhook_from
from ...model.page import MAX_PAGE_SIZE
from ...model.record import Record, RecordWrite
from ...ports.full_store import FullStore
from ...ports.records import Records
from ...store_retry import StoreRetry
from .delivery import WebhookClient
from .event_bodies import EncodedEvent, EventEncoder
from .message_client import MessageClient
from .notice_sender import NoticeSender
from .notices import NoticePlanner
from .owner_sequence import OwnerSequence
from .queue_sender import QueueSender
from .webhook_sender import WebhookSender

CURSOR_KEY: Final = ("position", "webhooks")
LEASE: Final = timedelta(seconds=15)
PAGE_SIZE: Final = 200
MAX_DELIVERIES: Final = 500
"""Deliveries per transaction."""
POLL_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 5.0
RIGHTS_SECONDS: Final = 2.0
_T = TypeVar("_T")


class DispatchCursor(NamedTuple):
    """Cursor of the dispatcher: log position, the process that holds the lease, and when the lease ends."""

    number: int
    holder: str
    until: datetime
    version: int | None


class WebhookDispatcher:
    """Without `messages` it delivers to webhooks only."""

    def __init__(
        self,
        store: FullStore,
        client: WebhookClient,
        encoder: EventEncoder,
        clock: Clock,
        messages: MessageClient | None = None,
    ) -> None:
        self.name = token_hex(8)
        self.endpoints: dict[str, QueueSender] = {}
        self.on_attempt: Callable[[bool], None] = lambda _ok: None
        """Called after each attempt with whether it succeeded."""
        self._store = store
        self._client = client
        self._encoder = encoder
        self._messages = messages
        self._notices = NoticePlanner(store)
        self._sequence = OwnerSequence(store)
        self._clock = clock
        self._wake_up = asyncio.Event()
        self._retry = StoreRetry("webhook delivery", clock, max_backoff=IDLE_SECONDS)
        self._sender_tasks: dict[str, asyncio.Task[None]] = {}
        self._rights: dict[str, tuple[float, bool]] = {}

    def wake(self) -> None:
        """Poll now: a webhook was created or changed in this process."""
        self._wake_up.set()

    async def step(self) -> None:
        """Read the log to its end and send everything that is due once; for tests with a manual clock."""
        while await self.poll() == 0:
            pass
        await asyncio.gather(*(endpoint.step() for endpoint in self.endpoints.values()))

    async def run(self) -> None:
        """Poll and send until cancelled."""
        try:
            while True:
                try:
                    wait = await self.poll()
                except StoreError as error:
                    wait = self._retry.failed(error)
                else:
                    self._retry.succeeded()
                self._start_senders()
                await self._wait(wait)
        finally:
            await self._release()

    async def poll(self) -> float:
        """Write due deliveries; return the seconds until the next poll. Zero: there is more."""
        webhooks = [
            each
            async for each in map_records(self._store, WEBHOOK_KIND, webhook_from)
            if each.enabled and await self._has_rights(each.owner)
        ]
        destinations = await self._load_destinations()
        if not webhooks and not destinations:
            self.endpoints = {}
            return IDLE_SECONDS
        since = [*(each.since for each in webhooks), *(each.since for each in destinations)]
        cursor = await self._acquire_lease(min(since))
        if cursor is None:
            self.endpoints = {}
            return IDLE_SECONDS
        self._update_endpoints(webhooks, destinations)
        return 0 if await self._write_deliveries(cursor, webhooks, destinations) else POLL_SECONDS

    async def _load_destinations(self) -> list[Destination]:
        if self._messages is None:
            return []
        return [
            each
            async for each in map_records(self._store, DESTINATION_KIND, destination_from)
            if await self._has_rights(each.owner)
        ]

    # --- lease: one dispatcher at a time -------------------------------------------------------------------------------

    async def _acquire_lease(self, since: int) -> DispatchCursor | None:
        """Return the cursor if this process holds or gets the lease; None while another process holds it."""
        now = self._clock.now()
        cursor = _parse_cursor(await self._store.get_record(*CURSOR_KEY))
        if cursor is not None and cursor.holder not in ("", self.name) and cursor.until > now:
            return None
        number = since if cursor is None else max(cursor.number, since)
        if cursor is not None and cursor.holder == self.name and cursor.until - now > LEASE * 2 / 3:
            return cursor._replace(number=number)
        renewed = DispatchCursor(number, self.name, now + LEASE, None if cursor is None else cursor.version)
        if not await self._store.put_record(_cursor_record(renewed), replacing=renewed.version):
            return None
        return renewed._replace(version=1 if renewed.version is None else renewed.version + 1)

    async def _has_rights(self, owner: str) -> bool:
        """Whether the owner is not revoked; cached for a few seconds."""
        now = self._clock.steady()
        read_at, is_allowed = self._rights.get(owner, (-RIGHTS_SECONDS, False))
        if now - read_at >= RIGHTS_SECONDS:
            record = await self._store.get_record(OWNER_KIND, owner)
            is_allowed = record is None or owner_from(record).revoked is None
            self._rights[owner] = (now, is_allowed)
        return is_allowed

    # --- writing of deliveries -------------------------------------------------------------------------------------------

    async def _write_deliveries(
        self, cursor: DispatchCursor, webhooks: list[Webhook], destinations: list[Destination]
    ) -> bool:
        """Write the deliveries of the next events for all that take them; return whether there may be more."""
        events = await self._store.events(cursor.number, PAGE_SIZE)
        if not events:
            return False
        webhook_owners = {each.owner for each in webhooks}
        notified = {each.owner for each in destinations}

        def is_wanted(event: Event) -> bool:
            # Webhooks get no events of system tasks; the messages that such a task asks for go to its account.
            return event.owner in webhook_owners or account_of(event.owner) in notified

        wanted = await self._sequence.number(events, cursor.number, is_wanted)
        encoded = await self._encoder.encode([each for each in wanted if each.event.owner in webhook_owners])
        planned = [(each.position, delivery) for each in encoded for delivery in self._make_deliveries(each, webhooks)]
        self._notices.continue_from(cursor.number, events[-1].number)
        planned += await self._notices.plan(wanted, destinations, self._clock.now())
        planned.sort(key=_position)
        number = events[-1].number
        if len(planned) > MAX_DELIVERIES:
            # The deliveries of one event are written together.
            number = planned[MAX_DELIVERIES][0] - 1
        deliveries = [delivery for position, delivery in planned if position <= number]
        new_cursor = RecordWrite(_cursor_record(cursor._replace(number=number)), cursor.version)
        writings = [new_cursor, *(writing for delivery in deliveries for writing in new_delivery_writes(delivery))]
        if await self._store.write_records(writings):
            for delivery in deliveries:
                self.endpoints[delivery.webhook].add_pending(1)
        # Otherwise another dispatcher was faster: the next poll sees it.
        return len(events) == PAGE_SIZE or number < events[-1].number

    def _make_deliveries(self, encoded: EncodedEvent, webhooks: list[Webhook]) -> Iterator[Delivery]:
        now = self._clock.now()
        for webhook in webhooks:
            if encoded.position > webhook.since and webhook.matches(encoded.event):
                yield Delivery(
                    delivery_id(encoded.event.at, encoded.sequence),
                    webhook.id,
                    webhook.owner,
                    f"evt_{encoded.sequence}",
                    encoded.event.kind.value,
                    encoded.event.task_id,
                    encoded.body.decode(),
                    now,
                    due=now,
                )

    # --- one sender task per webhook -------------------------------------------------------------------------------------

    def _update_endpoints(self, webhooks: list[Webhook], destinations: list[Destination]) -> None:
        known = self.endpoints
        self.endpoints = {}
        for webhook in webhooks:
            endpoint = known.get(webhook.id)
            if not isinstance(endpoint, WebhookSender):
                endpoint = WebhookSender(self._store, self._client, self._clock)
            endpoint.webhook = webhook
            endpoint.on_attempt = self.on_attempt
            self.endpoints[webhook.id] = endpoint
        for destination in destinations:
            sender = known.get(destination.id)
            if not isinstance(sender, NoticeSender):
                assert self._messages is not None  # noqa: S101 - without it no destinations are loaded
                sender = NoticeSender(self._store, self._messages, self._clock)
            sender.destination = destination
            sender.on_attempt = self.on_attempt
            self.endpoints[destination.id] = sender

    def _start_senders(self) -> None:
        """Start a task for each endpoint without one, and cancel tasks whose endpoint is gone."""
        for name in [name for name, task in self._sender_tasks.items() if name not in self.endpoints or task.done()]:
            self._sender_tasks.pop(name).cancel()
        for name, endpoint in self.endpoints.items():
            if name not in self._sender_tasks:
                self._sender_tasks[name] = asyncio.ensure_future(endpoint.run())

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake_up.wait()
        self._wake_up.clear()

    async def _release(self) -> None:
        """Cancel all senders and give up the lease, so that another process can continue at once."""
        tasks, self._sender_tasks = list(self._sender_tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(StoreError):
            cursor = _parse_cursor(await self._store.get_record(*CURSOR_KEY))
            if cursor is not None and cursor.holder == self.name:
                await self._store.put_record(_cursor_record(cursor._replace(holder="")), replacing=cursor.version)


async def map_records(records: Records, kind: str, parse: Callable[[Record], _T]) -> AsyncIterator[_T]:
    """Yield every record of a kind, parsed."""
    after: str | None = None
    while True:
        page = await records.records(kind, None, after, MAX_PAGE_SIZE)
        for record in page.items:
            yield parse(record)
        after = page.after
        if after is None:
            return


def _position(planned: tuple[int, Delivery]) -> int:
    return planned[0]


def _parse_cursor(record: Record | None) -> DispatchCursor | None:
    if record is None:
        return None
    body = json.loads(record.body)
    until = datetime.fromisoformat(body["until"])
    return DispatchCursor(body["number"], body["holder"], until, record.version)


def _cursor_record(cursor: DispatchCursor) -> Record:
    body = {"number": cursor.number, "holder": cursor.holder, "until": cursor.until.isoformat()}
    return Record(*CURSOR_KEY, "", json.dumps(body))


_RECORD: Final = ("deployment", "webhook_signer")
_TRIES: Final = 20


async def report_signer(records: Records, *, can_sign: bool) -> None:
    """Record whether this process can sign; the record of the process that started last counts."""
    body = json.dumps({"can_sign": can_sign})
    for _ in range(_TRIES):
        known = await records.get_record(*_RECORD)
        if can_sign if known is None else known.body == body:
            return  # without a report, the key is taken to be there
        version = None if known is None else known.version
        if await records.put_record(Record(*_RECORD, "", body), replacing=version):
            return


async def is_signer_without_key(records: Records) -> bool:
    known = await records.get_record(*_RECORD)
    return known is not None and not json.loads(known.body)["can_sign"]
