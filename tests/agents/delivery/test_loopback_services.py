"""Sender against imitations of chat services: rate limits, refusals, lost answers, replaced chats, receipts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from aiohttp import web

from horae.agents.delivery.sender import DeliverySender
from horae.clock import SystemClock
from horae.model.agents.delivery import Delivery, DeliveryState
from horae.ports.channel import Channel, ConnectionState, DeliveryReceipt, IncomingMessage
from horae.stores.memory import MemoryStore
from horae.testing.contracts.channels.harness import end
from tests.agents.delivery.scripted_channel import Outbox
from tests.channels.telegram_service import TelegramChats, TelegramService
from tests.channels.whatsapp_service import PERSON, WhatsAppChats, WhatsAppService

LONG = "\n\n".join(f"{number} " + "word " * 700 for number in range(3))


class SteppedClock(SystemClock):
    """System clock that a test sets forward."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.offset


class Sending:
    def __init__(self, name: str, channel: Channel) -> None:
        self.clock = SteppedClock()
        self.store = MemoryStore()
        self.outbox = Outbox(self.store)
        self.channel = channel
        self.sender = DeliverySender(self.store, {name: channel}, self.clock, tuple)

    async def send(self, chat: str, text: str) -> Delivery:
        added = await self.outbox.add(chat, text, self.clock.now())
        return await self.again(added)

    async def again(self, delivery_id: str) -> Delivery:
        """Make one attempt at what is due."""
        await self.sender.step()
        await self.sender.wait_idle()
        return await self.outbox.get(delivery_id)


@pytest.fixture
async def telegram() -> AsyncIterator[tuple[TelegramService, Sending]]:
    server = await TelegramService().start()
    channel = TelegramChats(server).open()
    yield server, Sending("telegram", channel)
    await channel.aclose()
    await server.close()


async def test_rate_limit_between_parts(telegram: tuple[TelegramService, Sending]) -> None:
    server, sending = telegram
    server.before_limit, server.retry_after = 1, 7
    delayed = await sending.send("telegram:-1001", LONG)
    assert (len(delayed.parts), delayed.is_pending) == (1, True)
    assert delayed.not_before is not None
    assert timedelta(seconds=5) < delayed.not_before - sending.clock.now() <= timedelta(seconds=7)
    assert await sending.again(delayed.id) == delayed
    server.before_limit = None
    sending.clock.offset = timedelta(seconds=8)
    sent = await sending.again(delayed.id)
    assert sent.state is DeliveryState.SENT
    texts = [text for _, text in server.sent]
    assert len(texts) == len(set(texts)) == len(sent.parts)
    assert "".join("".join(texts).split()) == "".join(LONG.split())


async def test_blocked_chat_fails_at_once_and_others_go_on(telegram: tuple[TelegramService, Sending]) -> None:
    server, sending = telegram
    server.blocked.add(-1001)
    failed = await sending.send("telegram:-1001", "hello")
    assert failed.state is DeliveryState.FAILED
    assert "kicked" in failed.problem
    assert (await sending.send("telegram:77", "hello")).state is DeliveryState.SENT
    assert (await sending.send("telegram:-999", "hello")).state is DeliveryState.FAILED


async def test_lost_answer_is_uncertain(telegram: tuple[TelegramService, Sending]) -> None:
    server, sending = telegram
    server.answers.append(web.Response(status=502))
    delayed = await sending.send("telegram:-1001", "hello")
    assert delayed.is_pending
    assert delayed.uncertain_since is not None
    sending.clock.offset = timedelta(minutes=1)
    sent = await sending.again(delayed.id)
    assert (sent.state, sent.repeated_parts) == (DeliveryState.SENT, 1)


async def test_service_that_is_away_delays_everything_and_loses_nothing(
    telegram: tuple[TelegramService, Sending],
) -> None:
    server, sending = telegram
    await server.stop()
    first = await sending.send("telegram:-1001", "one")
    second = await sending.send("telegram:-1001", "two")
    assert (first.is_pending, second.attempts) == (True, 0)
    await server.start()
    sending.clock.offset = timedelta(minutes=2)
    await sending.again(first.id)
    assert [text for _, text in server.sent] == ["one", "two"]


async def test_replaced_chat_is_followed(telegram: tuple[TelegramService, Sending]) -> None:
    server, sending = telegram
    server.migrated[-5] = -1001
    assert (await sending.send("telegram:-5", "hello")).chat == "telegram:-1001"


class ReceiptListener:
    """Passes receipts to the sender, as the host does."""

    def __init__(self, sender: DeliverySender) -> None:
        self._sender = sender
        self.connected = asyncio.Event()

    async def on_message(self, message: IncomingMessage) -> None:
        raise NotImplementedError

    async def on_receipt(self, receipt: DeliveryReceipt) -> None:
        await self._sender.on_receipt("whatsapp", receipt)

    def on_state(self, state: ConnectionState) -> None:
        if state.is_connected:
            self.connected.set()


async def test_receipts_of_whatsapp() -> None:
    server = await WhatsAppService().start()
    chats = WhatsAppChats(server)
    channel = chats.open()
    chats.attach(channel)
    sending = Sending("whatsapp", channel)
    listener = ReceiptListener(sending.sender)
    connection = asyncio.create_task(channel.connect(listener))
    await listener.connected.wait()
    sent = await sending.send(f"whatsapp:{PERSON}", "hello")
    states = []
    for status in ("delivered", "read", "delivered"):
        receipt = {"id": sent.parts[0], "status": status, "timestamp": "1", "recipient_id": PERSON}
        await chats.call({"statuses": [receipt]})
        states.append((await sending.outbox.get(sent.id)).state)
    assert states == [DeliveryState.RECEIVED, DeliveryState.READ, DeliveryState.READ]
    error = {"code": 131047, "title": "Re-engagement message", "error_data": {"details": "24 hours"}}
    other = await sending.send(f"whatsapp:{PERSON}", "late")
    failure = {"id": other.parts[0], "status": "failed", "timestamp": "1", "recipient_id": PERSON, "errors": [error]}
    await chats.call({"statuses": [failure]})
    failed = await sending.outbox.get(other.id)
    assert failed.state is DeliveryState.FAILED
    assert "24 hours" in failed.problem
    await end(connection)
    await channel.aclose()
    await server.close()
