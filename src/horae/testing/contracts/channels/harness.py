"""Harness of the channel contract: a chat service that can be disturbed, a recording listener, and a clock with short pauses."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import ClassVar, Final

from ....clock import SystemClock
from ....ports.channel import Channel, ConnectionState, DeliveryReceipt, IncomingMessage

PATIENCE: Final = 20.0
"""Longest wait in seconds for an event on a busy machine."""
_SHORT_PAUSE: Final = 0.01


class ImpatientClock(SystemClock):
    """System clock whose long pauses are short; it records those that were asked for."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await super().pause(min(seconds, _SHORT_PAUSE))


class KnownSecrets:
    """Secrets from a dict, the same for every owner."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    async def reveal(self, owner: str, name: str) -> str | None:  # noqa: ARG002 - see above
        return self._values.get(name)


class RecordingListener:
    """Keeps what a channel reports. `failures` counts down: so many messages are refused as if the store had failed."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[IncomingMessage] = asyncio.Queue()
        self.receipts: asyncio.Queue[DeliveryReceipt] = asyncio.Queue()
        self.states: list[ConnectionState] = []
        self.failures = 0
        self.holds = False
        self.held: asyncio.Queue[IncomingMessage] = asyncio.Queue()
        self._connected = asyncio.Event()
        self._disconnected = asyncio.Event()

    async def on_message(self, message: IncomingMessage) -> None:
        if self.holds:
            self.held.put_nowait(message)
            await asyncio.Event().wait()
        if self.failures:
            self.failures -= 1
            raise OSError("the store is away")
        self.messages.put_nowait(message)

    async def on_receipt(self, receipt: DeliveryReceipt) -> None:
        self.receipts.put_nowait(receipt)

    def on_state(self, state: ConnectionState) -> None:
        self.states.append(state)
        (self._connected if state.is_connected else self._disconnected).set()
        (self._disconnected if state.is_connected else self._connected).clear()

    async def next(self) -> IncomingMessage:
        async with asyncio.timeout(PATIENCE):
            return await self.messages.get()

    async def next_receipt(self) -> DeliveryReceipt:
        async with asyncio.timeout(PATIENCE):
            return await self.receipts.get()

    async def next_held(self) -> IncomingMessage:
        async with asyncio.timeout(PATIENCE):
            return await self.held.get()

    async def wait_connected(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._connected.wait()

    async def wait_disconnected(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._disconnected.wait()


class ChatService(ABC):
    """A chat service, or an imitation of one, with a person in a chat that the channel's account is in, too."""

    chat: str
    """Id of that chat."""
    person: ClassVar[str] = "安 Ann"
    """Name of the person, as the service shows it."""
    unknown_chat: ClassVar[str]
    has_edits: ClassVar[bool] = True
    has_deletions: ClassVar[bool] = True
    has_quotes: ClassVar[bool] = True
    names_delays: ClassVar[bool] = True
    """Whether a rate limit says how long it lasts."""

    def __init__(self) -> None:
        self.clock = ImpatientClock()

    @property
    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log and no error may show."""

    @abstractmethod
    def open(self) -> Channel:
        """Return a new channel, as a new process would have it."""

    def attach(self, channel: Channel) -> None:  # noqa: B027 - few services call back
        """Say which channel gets the callbacks of the service; services without callbacks do nothing."""

    @abstractmethod
    async def write(self, text: str, *, quoted: str | None = None) -> str:
        """Write as the person; return the id. `quoted` is the id of the message that this one answers."""

    @abstractmethod
    async def edit(self, message_id: str, text: str) -> None: ...

    @abstractmethod
    async def delete(self, message_id: str) -> None: ...

    @abstractmethod
    async def repeat(self, message_id: str) -> None:
        """Deliver a message again that the channel has confirmed."""

    @abstractmethod
    async def sent_texts(self) -> list[str]:
        """Return the texts of the channel in the chat, oldest first."""

    @abstractmethod
    def limit_rate(self, seconds: int, *, after: int = 0) -> None:
        """Refuse one text for so many seconds, after taking some."""

    @abstractmethod
    def end_rate_limit(self) -> None:
        """Let the time pass that the limit lasts."""

    @abstractmethod
    async def revoke(self) -> None:
        """Make the credentials of the channel invalid."""

    @abstractmethod
    async def interrupt(self) -> None:
        """Cut every connection, and accept no new one."""

    @abstractmethod
    async def resume(self) -> None: ...


@asynccontextmanager
async def connected(
    service: ChatService, listener: RecordingListener, since: datetime | None = None
) -> AsyncIterator[Channel]:
    """A connected channel of the service; it is cancelled at the end."""
    channel = service.open()
    service.attach(channel)
    connection = asyncio.create_task(channel.connect(listener, since))
    waiting = asyncio.create_task(listener.wait_connected())
    try:
        await asyncio.wait([connection, waiting], return_when=asyncio.FIRST_COMPLETED)
        if connection.done():
            await connection
        await waiting
        yield channel
    finally:
        waiting.cancel()
        await end(connection)
        await channel.aclose()


async def end(connection: asyncio.Task[None]) -> None:
    """Cancel a connection and wait until it has ended."""
    connection.cancel()
    # Not `suppress`, which would lose a cancellation of the caller.
    (ended,) = await asyncio.gather(connection, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended
