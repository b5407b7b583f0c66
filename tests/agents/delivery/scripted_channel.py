"""A channel whose answers a test decides, and deliveries for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count

from horae.model.agents.delivery import Delivery, add_delivery, delivery_from
from horae.ports.channel import ChannelListener, DeliveryDelayed, DeliveryRefused, Sent
from horae.ports.full_store import FullStore
from horae.ports.text_parts import TextLimit
from horae.service.chats.delivery_records import DeliveryIds

OWNER = "group:family"


class ScriptedChannel:
    """`answers` has, by chat, the exceptions of the next calls; None takes the text. `arrived` are texts that a service has."""

    def __init__(self, most: int = 10) -> None:
        self.limit = TextLimit(most)
        self.answers: defaultdict[str, list[DeliveryDelayed | DeliveryRefused | Exception | None]] = defaultdict(list)
        self.arrived: list[tuple[str, str]] = []
        self.keys: list[str] = []
        self.moved: dict[str, str] = {}
        self.typed: list[str] = []
        self.confirmed: list[tuple[str, str]] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.on_send: Callable[[str], None] = lambda _text: None
        self._numbers = count(1)

    def texts(self, chat: str) -> list[str]:
        return [text for where, text in self.arrived if where == chat]

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        raise NotImplementedError

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        self.keys.append(key)
        if chat in self.gates:
            await self.gates[chat].wait()
        answer = self.answers[chat].pop(0) if self.answers[chat] else None
        if answer is not None:
            if isinstance(answer, DeliveryDelayed) and answer.is_uncertain:
                self.arrived.append((chat, text))
            raise answer
        chat = self.moved.get(chat, chat)
        self.arrived.append((chat, text))
        self.on_send(text)
        return Sent(f"m{next(self._numbers)}", chat)

    async def typing(self, chat: str) -> None:
        self.typed.append(chat)

    async def confirm_read(self, chat: str, message_id: str) -> None:
        self.confirmed.append((chat, message_id))

    async def aclose(self) -> None: ...


class KeyedScriptedChannel(ScriptedChannel):
    repetition_window = timedelta(hours=1)


def busy(seconds: float = 1.0) -> DeliveryDelayed:
    return DeliveryDelayed("Too Many Requests", timedelta(seconds=seconds))


def no_answer(seconds: float = 1.0) -> DeliveryDelayed:
    return DeliveryDelayed("no answer", timedelta(seconds=seconds), is_uncertain=True)


class Outbox:
    """Adds deliveries with ascending ids, and reads them back."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self._ids = DeliveryIds()

    async def add(self, chat: str, text: str, now: datetime, owner: str = OWNER) -> str:
        delivery = Delivery(self._ids.next(now), owner, chat, text, now, "run_1")
        assert await self._store.write_records([add_delivery(delivery)])
        return delivery.id

    async def get(self, delivery_id: str) -> Delivery:
        for kind in ("delivery.pending", "delivery.finished"):
            record = await self._store.get_record(kind, delivery_id)
            if record is not None:
                return delivery_from(record)
        raise LookupError(delivery_id)
