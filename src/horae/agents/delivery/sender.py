"""Sender of deliveries: the texts of a chat in the order of their ids, different chats at once, none held up by another.

The pending records are the truth and are read every two seconds; `notify` only makes that sooner.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.agents.delivery import (
    MAX_PENDING,
    PENDING_KIND,
    Delivery,
    UncertainPolicy,
    as_delayed,
    as_failed,
    delivery_from,
)
from ...ports.channel import Channel, DeliveryReceipt
from ...ports.full_store import FullStore
from ...service.chats.delivery_records import DeliveryRecords
from ...store_retry import TRANSIENT_ERRORS, StoreRetry
from .attempt import LOG, AttemptResult, AttemptTools, attempt_delivery
from .receipts import Receipts
from .typing_signs import TypingSigns

POLL_SECONDS: Final = 2.0
SENDS_PER_CHANNEL: Final = 8
"""Texts that one channel sends at once, each to another chat."""
STOP_SECONDS: Final = 5.0
"""Time in which sends that have begun may end when the sender stops."""
_PAGE: Final = 200
_SCAN_SHARE: Final = 10
"""Reading the pending deliveries takes at most this part of the time, however many there are."""
_NO_CHANNEL_DELAY: Final = timedelta(minutes=5)
_SHORTEST_WAIT: Final = 0.05


class _ChatQueue(NamedTuple):
    """Ids of the pending deliveries of a chat, in order; `due` is when the first may be sent."""

    channel: str
    ids: list[str]
    due: datetime | None


class DeliverySender:
    """`channels` are those that this process holds, by name; it may change meanwhile. `known` returns all that the settings name."""

    def __init__(
        self,
        store: FullStore,
        channels: Mapping[str, Channel],
        clock: Clock,
        known: Callable[[], Collection[str]],
        policy: UncertainPolicy = UncertainPolicy.REPEAT,
    ) -> None:
        records = DeliveryRecords(store)
        self.typing_signs = TypingSigns(store, channels, clock)
        self.tools = AttemptTools(records, clock, policy)
        self._store = store
        self._channels = channels
        self._known = known
        self._clock = clock
        self._receipts = Receipts(store, records, clock)
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(SENDS_PER_CHANNEL))
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._wake_up = asyncio.Event()
        self.tools.on_part = self._receipts.on_part
        self.tools.is_held = channels.__contains__

    def notify(self) -> None:
        """Look for new deliveries at once."""
        self._wake_up.set()

    async def on_receipt(self, channel: str, receipt: DeliveryReceipt) -> None:
        """Apply what a service reports of a text."""
        await self._receipts.on_receipt(channel, receipt)

    async def run(self) -> None:
        """Send until cancelled; texts that are being sent then have some seconds to end."""
        self.tools.is_stopping = False
        retry = StoreRetry("delivery to chats", self._clock)
        signs = asyncio.create_task(self.typing_signs.run())
        try:
            while True:
                self._wake_up.clear()
                try:
                    seconds = await self.step()
                except TRANSIENT_ERRORS as error:
                    seconds = retry.failed(error)
                else:
                    retry.succeeded()
                await self._wait(seconds)
        finally:
            signs.cancel()
            await self._stop()

    async def step(self) -> float:
        """Read the pending deliveries and begin to send those that are due; return the seconds until the next look."""
        began = self._clock.steady()
        queues = await self._scan()
        now = self._clock.now()
        seconds = POLL_SECONDS
        for chat, queue in queues.items():
            if chat in self._workers:
                continue
            wait = 0.0 if queue.due is None else (queue.due - now).total_seconds()
            if wait > 0:
                seconds = min(seconds, wait)
            else:
                self._workers[chat] = asyncio.create_task(self._send_chat(chat, queue))
        return max(seconds, _SHORTEST_WAIT, _SCAN_SHARE * (self._clock.steady() - began))

    async def wait_idle(self) -> None:
        """Return when nothing is being sent."""
        while self._workers:
            await asyncio.wait(self._workers.values())

    async def _scan(self) -> dict[str, _ChatQueue]:
        queues: dict[str, _ChatQueue] = {}
        waiting: Counter[str] = Counter()
        after: str | None = None
        while True:
            page = await self._store.records(PENDING_KIND, after=after, limit=_PAGE)
            for delivery in map(delivery_from, page.items):
                waiting[delivery.owner] += 1
                if waiting[delivery.owner] > MAX_PENDING:
                    await self._fail_excess(delivery)
                elif delivery.channel in self._channels:
                    queue = queues.setdefault(delivery.chat, _ChatQueue(delivery.channel, [], delivery.not_before))
                    queue.ids.append(delivery.id)
                elif delivery.channel not in self._known():
                    await self._report_no_channel(delivery)
            after = page.after
            if after is None:
                return queues

    async def _fail_excess(self, delivery: Delivery) -> None:
        """Fail a text of an owner that has too many: those before it stay, and a person may have it sent again."""
        now = self._clock.now()
        problem = f"{MAX_PENDING} texts of this group wait to be sent already"
        await self.tools.change(delivery.id, lambda found: as_failed(found, now, problem))

    async def _report_no_channel(self, delivery: Delivery) -> None:
        """Record that no channel can send this text: the operator sets it up again, or discards the delivery."""
        now = self._clock.now()
        if not delivery.is_due(now):
            return
        problem = f"there is no channel {delivery.channel}: add [channels.{delivery.channel}] to horae.toml again"
        await self.tools.records.change(
            delivery.id,
            now,
            lambda found: as_delayed(found, now, _NO_CHANNEL_DELAY, problem) if found.is_due(now) else None,
        )

    async def _send_chat(self, chat: str, queue: _ChatQueue) -> None:
        has_progress = False
        try:
            for delivery_id in queue.ids:
                channel = self._channels.get(queue.channel)
                if channel is None or self.tools.is_stopping:
                    return
                async with self._slots[queue.channel]:
                    result = await attempt_delivery(self.tools, channel, delivery_id)
                has_progress = True
                if result is AttemptResult.WAIT:
                    return
        except TRANSIENT_ERRORS as error:
            LOG.warning("delivery to a chat of %s is tried again: %s", queue.channel, error)
        except Exception:  # noqa: BLE001 - one chat must not end the others
            LOG.exception("delivery to a chat of %s failed unexpectedly and is tried again", queue.channel)
        finally:
            del self._workers[chat]
            if has_progress:
                # Texts may have been added for this chat meanwhile.
                self._wake_up.set()

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake_up.wait()

    async def _stop(self) -> None:
        self.tools.is_stopping = True
        workers = list(self._workers.values())
        if workers:
            _, late = await asyncio.wait(workers, timeout=STOP_SECONDS)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*late, return_exceptions=True)
