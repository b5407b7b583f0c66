"""One attempt at one delivery: sends its missing parts and records each, so that a crash repeats one part at most."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import Enum, auto
from typing import Final

from ...clock import Clock
from ...errors import Refusal, StoreError
from ...model.agents.delivery import (
    Delivery,
    UncertainPolicy,
    as_delayed,
    as_failed,
    as_sent,
    may_repeat,
    with_part,
)
from ...ports.channel import Channel, DeliveryDelayed, DeliveryRefused, Sent, replace_surrogates, send_text
from ...ports.text_parts import split_text
from ...service.chats.delivery_records import DeliveryRecords
from ...store_retry import StoreRetry

LOG: Final = logging.getLogger("horae.agents")
UNEXPECTED_DELAY: Final = timedelta(seconds=30)
_NO_WINDOW: Final = timedelta(0)
_UNCERTAIN: Final = "no answer came, so that the text may have arrived; it is not sent again"


class AttemptResult(Enum):
    NEXT = auto()
    """The delivery has ended or is gone: the next text of the chat may be sent."""
    WAIT = auto()
    """The delivery waits, and all later texts of its chat with it."""


class _Withdrawn(Exception):  # noqa: N818 - it says what happened
    """The delivery was discarded, or has failed by a receipt, while it was being sent."""


class _Stopped(Exception):  # noqa: N818 - likewise
    """The sender is stopping, or another process holds the channel now: the remaining parts are for that one."""


class AttemptTools:
    """What attempts share. `on_part` is called after each recorded part, `on_moved` when a service has replaced a chat.

    `is_stopping`, and a channel for which `is_held` is false, end an attempt after the part that is being sent.
    """

    def __init__(self, records: DeliveryRecords, clock: Clock, policy: UncertainPolicy) -> None:
        self.records = records
        self.clock = clock
        self.policy = policy
        self.is_stopping = False
        self.is_held: Callable[[str], bool] = lambda _channel: True
        self.on_part: Callable[[Delivery, Sent], Awaitable[None]] | None = None
        self.on_moved: Callable[[str, str], Awaitable[None]] | None = None

    async def change(self, delivery_id: str, change: Callable[[Delivery], Delivery]) -> Delivery | None:
        """Record a change of a pending delivery, however long the store is away: it says what has been sent."""
        retry = StoreRetry("recording of a delivery", self.clock)
        while True:
            try:
                found = await self.records.change(
                    delivery_id, self.clock.now(), lambda found: change(found) if found.is_pending else None
                )
            except StoreError as error:
                await retry.wait(error)
            else:
                retry.succeeded()
                return found


async def attempt_delivery(tools: AttemptTools, channel: Channel, delivery_id: str) -> AttemptResult:
    """Send the missing parts of a delivery, if it is due; errors of the store are raised before anything is sent."""
    delivery = await tools.records.pending(delivery_id)
    if delivery is None:
        return AttemptResult.NEXT
    now = tools.clock.now()
    if not delivery.is_due(now):
        return AttemptResult.WAIT
    window = getattr(channel, "repetition_window", _NO_WINDOW)
    if may_repeat(delivery, now, tools.policy, window):
        is_marked = tools.policy is UncertainPolicy.FAIL and not window
        return await _Attempt(tools, channel, delivery, is_marked=is_marked).run()
    await tools.change(delivery_id, lambda found: as_failed(found, now, _UNCERTAIN))
    return AttemptResult.NEXT


class _Attempt:
    """`is_marked`: each part is recorded as uncertain before it is sent, because a crash must not repeat it."""

    def __init__(self, tools: AttemptTools, channel: Channel, delivery: Delivery, *, is_marked: bool) -> None:
        self._tools = tools
        self._channel = channel
        self._delivery = delivery
        self._is_marked = is_marked
        self._parts = len(split_text(replace_surrogates(delivery.text), channel.limit))
        self._is_counted = False

    async def run(self) -> AttemptResult:
        try:
            await self._send()
        except _Withdrawn:
            return AttemptResult.NEXT
        except _Stopped:
            return AttemptResult.WAIT
        except DeliveryRefused as refused:
            problem = _words(refused)
            return await self._settle(lambda found: as_failed(self._count(found), self._tools.clock.now(), problem))
        except DeliveryDelayed as delayed:
            return await self._delay(delayed)
        except Refusal as refusal:
            return await self._delay(DeliveryDelayed(str(refusal), UNEXPECTED_DELAY))
        except Exception as error:
            LOG.exception("a text could not be sent to a chat of the channel %s", self._delivery.channel)
            problem = f"unexpected {type(error).__name__}"
            return await self._delay(DeliveryDelayed(problem, UNEXPECTED_DELAY, is_uncertain=True))
        if not self._delivery.is_pending:
            return AttemptResult.NEXT
        # There was no part to send, as in a text of spaces.
        return await self._settle(lambda found: as_sent(self._count(found), self._tools.clock.now()))

    async def _send(self) -> None:
        delivery = self._delivery
        await self._mark()
        await send_text(
            self._channel,
            delivery.chat.partition(":")[2],
            delivery.text,
            key=delivery.id,
            already_sent=len(delivery.parts),
            on_sent=self._record_part,
        )

    async def _mark(self) -> None:
        if not self._is_marked or len(self._delivery.parts) >= self._parts:
            return
        now = self._tools.clock.now()
        if await self._tools.change(self._delivery.id, lambda found: found._replace(uncertain_since=now)) is None:
            raise _Withdrawn

    async def _record_part(self, sent: Sent) -> None:
        tools, before = self._tools, self._delivery
        now = tools.clock.now()
        chat = f"{before.channel}:{sent.chat}"

        def add(found: Delivery) -> Delivery:
            after = with_part(self._count(self._unmark(found)), sent.id, chat)
            return as_sent(after, now) if len(after.parts) >= self._parts else after

        recorded = await tools.change(before.id, add)
        self._is_counted = True
        if recorded is None:
            raise _Withdrawn
        self._delivery = recorded
        if tools.on_part is not None:
            await tools.on_part(recorded, sent)
        if chat != before.chat and tools.on_moved is not None:
            await tools.on_moved(before.chat, chat)
        if recorded.is_pending:
            if tools.is_stopping or not tools.is_held(before.channel):
                raise _Stopped
            await self._mark()

    async def _delay(self, delayed: DeliveryDelayed) -> AttemptResult:
        now, is_uncertain = self._tools.clock.now(), delayed.is_uncertain

        def delay(found: Delivery) -> Delivery:
            counted = self._count(self._unmark(found))
            if self._is_marked and is_uncertain:
                return as_failed(counted, now, f"{delayed.problem}: {_UNCERTAIN}")
            return as_delayed(counted, now, delayed.after, delayed.problem, is_uncertain=is_uncertain)

        return await self._settle(delay)

    async def _settle(self, change: Callable[[Delivery], Delivery]) -> AttemptResult:
        found = await self._tools.change(self._delivery.id, change)
        return AttemptResult.WAIT if found is not None and found.is_pending else AttemptResult.NEXT

    def _unmark(self, delivery: Delivery) -> Delivery:
        return delivery._replace(uncertain_since=None) if self._is_marked else delivery

    def _count(self, delivery: Delivery) -> Delivery:
        """Return the delivery with this attempt counted: once, however many parts it sends."""
        return delivery if self._is_counted else delivery._replace(attempts=delivery.attempts + 1)


def _words(refused: DeliveryRefused) -> str:
    message, hint = refused.refusal.in_language("en")
    return f"{message} {hint}".strip()
