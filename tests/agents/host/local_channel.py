"""Channel within the process: a chat service that keeps what was not received, and repeats it on the next connection."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Final

from horae.clock import Clock
from horae.errors import Refusal
from horae.ports.channel import ChannelListener, ConnectionState, IncomingMessage, Sent
from horae.ports.text_parts import TextLimit

LIMIT: Final = TextLimit(1_000, len)


class LocalChannel:
    """`sent` are the texts that arrived, by chat. `refusal` ends the next connection for good."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[IncomingMessage] = []
        self._arrived = asyncio.Event()
        self._number = 0
        self.sent: list[tuple[str, str]] = []
        self.on_sent = asyncio.Event()
        self.refusal: Refusal | None = None
        self.connections = 0
        self.is_closed = False

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    def say(self, text: str, chat: str = "1", **fields: Any) -> IncomingMessage:
        """Add a message to the service; the next connection receives it."""
        self._number += 1
        name = str(self._number)
        message = IncomingMessage(chat, name, f"{chat}:{name}", "ada", "Ada", text, self._clock.now())
        message = message._replace(**fields)
        self._waiting.append(message)
        self._arrived.set()
        return message

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        del since
        if self.refusal is not None:
            raise self.refusal
        self.connections += 1
        listener.on_state(ConnectionState(is_connected=True))
        while True:
            while self._waiting:
                await listener.on_message(self._waiting[0])
                del self._waiting[0]
            self._arrived.clear()
            await self._arrived.wait()

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        del key
        self.sent.append((chat, text))
        self.on_sent.set()
        return Sent(str(len(self.sent)), chat)

    async def typing(self, chat: str) -> None:
        """The service has no such sign."""

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """The service has no such mark."""

    async def aclose(self) -> None:
        self.is_closed = True
