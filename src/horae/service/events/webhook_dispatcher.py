"""Reads the log on and sees that every webhook is told what it wants to hear: one courier at a time, others ready.

What is to be sent is written down together with how far the log was read, so that nothing is forgotten and nothing is
written down twice. Each address has its own hand that sends, so that a slow or dead one holds up nobody else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import StoreError
from ...model.accounts.account import OWNER_KIND, owner_from
from ...model.events.webhook import Delivery, Webhook, delivery_id
from ...model.events.webhook_records import WEBHOOK, made, webhook_from
from ...model.page import LARGEST_PAGE
from ...model.record import Record, Writing
from ...ports.records import Records
from ...ports.store import Book, Feed
from ...store_retry import StoreRetry
from .delivery import Postman
from .event_bodies import Telling, Told
from .owner_sequence import OwnerSequence
from .webhook_sender import Endpoint

POSITION: Final = ("position", "webhooks")
LEASE: Final = timedelta(seconds=15)
PAGE: Final = 200
MOST_WRITTEN: Final = 500
"""Deliveries in one transaction."""
LOOK_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 5.0
RIGHTS_SECONDS: Final = 2.0


class Keeping(Book, Records, Feed, Protocol):
    """What is asked of the store."""


class Place(NamedTuple):
    """How far the log was read, by whom, and until when nobody else does."""

    number: int
    holder: str
    until: datetime
    version: int | None


class Courier:
    def __init__(self, store: Keeping, postman: Postman, telling: Telling, clock: Clock) -> None:
        self.name = token_hex(8)
        self.endpoints: dict[str, Endpoint] = {}
        self.on_attempt: Callable[[bool], None] = lambda _ok: None
        """Called after each attempt, with whether it arrived."""
        self._store = store
        self._postman = postman
        self._telling = telling
        self._sequence = OwnerSequence(store)
        self._clock = clock
        self._bell = asyncio.Event()
        self._retry = StoreRetry("webhook delivery", clock, longest=IDLE_SECONDS)
        self._hands: dict[str, asyncio.Task[None]] = {}
        self._rights: dict[str, tuple[float, bool]] = {}

    def ring(self) -> None:
        """A webhook was made or changed in this process."""
        self._bell.set()

    async def step(self) -> None:
        """One look at the log, and everything that is due sent once; for whoever moves time by hand."""
        while await self.look() == 0:
            pass
        await asyncio.gather(*(endpoint.step() for endpoint in self.endpoints.values()))

    async def run(self) -> None:
        try:
            while True:
                try:
                    wait = await self.look()
                except StoreError as error:
                    wait = self._retry.failed(error)
                else:
                    self._retry.succeeded()
                self._employ()
                await self._rest(wait)
        finally:
            await self._let_go()

    async def look(self) -> float:
        """Write down what is to be sent; in how many seconds to look again. Zero: there is more."""
        webhooks = [each async for each in self._webhooks() if each.enabled and await self._may_hear(each.owner)]
        if not webhooks:
            self.endpoints = {}
            return IDLE_SECONDS
        place = await self._hold(min(each.since for each in webhooks))
        if place is None:
            self.endpoints = {}
            return IDLE_SECONDS
        self._assign(webhooks)
        return 0 if await self._write_down(place, webhooks) else LOOK_SECONDS

    # --- one courier at a time -----------------------------------------------------------------------------------------

    async def _hold(self, since: int) -> Place | None:
        """The place in the log, when it is ours; None while another courier has it."""
        now = self._clock.now()
        place = _place(await self._store.get_record(*POSITION))
        if place is not None and place.holder not in ("", self.name) and place.until > now:
            return None
        number = since if place is None else max(place.number, since)
        if place is not None and place.holder == self.name and place.until - now > LEASE * 2 / 3:
            return place._replace(number=number)
        mine = Place(number, self.name, now + LEASE, None if place is None else place.version)
        if not await self._store.put_record(_kept(mine), replacing=mine.version):
            return None
        return mine._replace(version=1 if mine.version is None else mine.version + 1)

    async def _may_hear(self, owner: str) -> bool:
        """Whose rights were revoked is told of nothing; a look at that every few seconds is enough."""
        now = self._clock.steady()
        asked, may = self._rights.get(owner, (-RIGHTS_SECONDS, False))
        if now - asked >= RIGHTS_SECONDS:
            record = await self._store.get_record(OWNER_KIND, owner)
            may = record is None or owner_from(record).revoked is None
            self._rights[owner] = (now, may)
        return may

    async def _webhooks(self) -> AsyncIterator[Webhook]:
        after: str | None = None
        while True:
            page = await self._store.records(WEBHOOK, None, after, LARGEST_PAGE)
            for record in page.items:
                yield webhook_from(record)
            after = page.after
            if after is None:
                return

    # --- what is to be sent ----------------------------------------------------------------------------------------------

    async def _write_down(self, place: Place, webhooks: list[Webhook]) -> bool:
        """The next events, for all who want to hear of them; whether there may be more."""
        events = await self._store.events(place.number, PAGE)
        if not events:
            return False
        owners = {each.owner for each in webhooks}
        wanted = await self._sequence.number(events, place.number, lambda event: event.owner in owners)
        told = await self._telling.told(wanted)
        deliveries: list[Delivery] = []
        number = events[-1].number
        for each in told:
            if len(deliveries) >= MOST_WRITTEN:
                number = each.position - 1
                break
            deliveries += self._for_all(each, webhooks)
        further = Writing(_kept(place._replace(number=number)), place.version)
        writings = [further, *(writing for delivery in deliveries for writing in made(delivery))]
        if await self._store.write_records(writings):
            for delivery in deliveries:
                self.endpoints[delivery.webhook].expect(1)
        # Otherwise another courier was faster: the next look finds out.
        return len(events) == PAGE or number < events[-1].number

    def _for_all(self, told: Told, webhooks: list[Webhook]) -> Iterator[Delivery]:
        now = self._clock.now()
        for webhook in webhooks:
            if told.position > webhook.since and webhook.takes(told.event):
                yield Delivery(
                    delivery_id(told.event.at, told.sequence),
                    webhook.id,
                    webhook.owner,
                    f"evt_{told.sequence}",
                    told.event.kind.value,
                    told.event.task_id,
                    told.body.decode(),
                    now,
                    due=now,
                )

    # --- one hand for each address ---------------------------------------------------------------------------------------

    def _assign(self, webhooks: list[Webhook]) -> None:
        known = self.endpoints
        self.endpoints = {}
        for webhook in webhooks:
            endpoint = known.get(webhook.id) or Endpoint(self._store, self._postman, self._clock)
            endpoint.webhook = webhook
            endpoint.on_attempt = self.on_attempt
            self.endpoints[webhook.id] = endpoint

    def _employ(self) -> None:
        """Those who have an address to send to do; those whose address is gone stop."""
        for name in [name for name, hand in self._hands.items() if name not in self.endpoints or hand.done()]:
            self._hands.pop(name).cancel()
        for name, endpoint in self.endpoints.items():
            if name not in self._hands:
                self._hands[name] = asyncio.ensure_future(endpoint.run())

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        self._bell.clear()

    async def _let_go(self) -> None:
        """Another courier may go on at once."""
        hands, self._hands = list(self._hands.values()), {}
        for hand in hands:
            hand.cancel()
        await asyncio.gather(*hands, return_exceptions=True)
        with suppress(StoreError):
            place = _place(await self._store.get_record(*POSITION))
            if place is not None and place.holder == self.name:
                await self._store.put_record(_kept(place._replace(holder="")), replacing=place.version)


def _place(record: Record | None) -> Place | None:
    if record is None:
        return None
    body = json.loads(record.body)
    until = datetime.fromisoformat(body["until"])
    return Place(body["number"], body["holder"], until, record.version)


def _kept(place: Place) -> Record:
    body = {"number": place.number, "holder": place.holder, "until": place.until.isoformat()}
    return Record(*POSITION, "", json.dumps(body))
