"""Senders with a defect: the guarantees of order and of parts find each of them."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from horae.agents.delivery.attempt import AttemptTools, attempt_delivery
from horae.agents.delivery.sender import DeliverySender
from horae.model.agents.delivery import Delivery, UncertainPolicy
from horae.service.chats.delivery_records import DeliveryRecords
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.agents.delivery.scripted_channel import Outbox, ScriptedChannel, busy

TEXTS = ("aaaaaaaaa bbbbbbbbb", "ccccccccc", "ddddddddd")
PARTS = ["aaaaaaaaa ", "bbbbbbbbb", "ccccccccc", "ddddddddd"]


async def send_all(sender_kind: type[DeliverySender], clock: VirtualClock) -> list[str]:
    """Send three texts to one chat, with a rate limit after the first part; return what arrived."""
    store, channel = MemoryStore(), ScriptedChannel()
    await store.open()
    outbox = Outbox(store)
    for text in TEXTS:
        await outbox.add("test:1", text, NOON)
    channel.answers["1"] = [None, busy()]
    sender = sender_kind(store, {"test": channel}, clock, tuple)
    for _ in range(10):
        await sender.step()
        await sender.wait_idle()
        await clock.pause(2)
    return channel.texts("1")


class SendsTextsOfAChatAtOnce(DeliverySender):
    """Each text has a worker of its own, so that a delayed one is overtaken."""

    async def step(self) -> float:
        queues = await self._scan()
        workers = [
            attempt_delivery(self.tools, self._channels[queue.channel], each)
            for queue in queues.values()
            for each in queue.ids
        ]
        await asyncio.gather(*workers)
        return 1.0


class _ForgetfulRecords(DeliveryRecords):
    async def pending(self, delivery_id: str) -> Delivery | None:
        found = await super().pending(delivery_id)
        return None if found is None else found._replace(parts=())


class ForgetsSentParts(DeliverySender):
    """An attempt begins at the first part, whatever was sent before."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.tools = AttemptTools(_ForgetfulRecords(self._store), self._clock, UncertainPolicy.REPEAT)


class Defect(NamedTuple):
    kind: type[DeliverySender]
    finding: str


async def test_sender_keeps_order_and_parts(clock: VirtualClock) -> None:
    assert await send_all(DeliverySender, clock) == PARTS


@pytest.mark.parametrize("defect", [Defect(SendsTextsOfAChatAtOnce, "order"), Defect(ForgetsSentParts, "repeated")])
async def test_planted_defect_is_found(clock: VirtualClock, defect: Defect) -> None:
    arrived = await send_all(defect.kind, clock)
    findings = {"order": sorted(arrived) != arrived, "repeated": len(arrived) != len(set(arrived))}
    assert findings[defect.finding]
