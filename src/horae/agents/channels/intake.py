"""Hands incoming messages to the listener: one at a time, in order, and each once per process although the service repeats it."""

from __future__ import annotations

import asyncio
from typing import Final

from ...ports.channel import ChannelListener, IncomingMessage

REMEMBERED: Final = 10_000
"""Ids that are known as received. Services repeat within hours; an older repetition is found by the store."""


class ListenerFailed(Exception):  # noqa: N818 - it says what happened
    """The listener did not keep the message, so that it must not be confirmed."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"a message could not be stored ({type(error).__name__})")


class Intake:
    def __init__(self, listener: ChannelListener) -> None:
        self._listener = listener
        self._received: dict[str, None] = {}
        # A repetition that arrives meanwhile waits for the outcome of the first.
        self._lock = asyncio.Lock()

    async def accept(self, message: IncomingMessage) -> None:
        """Return when the message is received; raises `ListenerFailed`."""
        async with self._lock:
            if message.source_id in self._received:
                return
            try:
                await self._listener.on_message(message)
            except Exception as error:
                raise ListenerFailed(error) from error
            self._received[message.source_id] = None
            if len(self._received) > REMEMBERED:
                del self._received[next(iter(self._received))]
