"""Hands incoming messages to the listener: one at a time, in order, and each once per process although the service repeats it."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Final

from ...model.messages import SENDER_CHARACTERS, SOURCE_ID_CHARACTERS, TEXT_BYTES
from ...ports.channel import ChannelListener, IncomingMessage, replace_surrogates

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
        message = storable(message)
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


def storable(message: IncomingMessage) -> IncomingMessage:
    """Return the message within the limits of a stream: one that no store takes would be delivered again for ever."""
    text = _clean(message.text)
    shortened = text.encode()[:TEXT_BYTES].decode(errors="ignore")
    quoted = message.quoted
    if quoted is not None:
        quoted = quoted._replace(
            id=_clean(quoted.id),
            sender_name=_clean(quoted.sender_name),
            text=_clean(quoted.text)[: SENDER_CHARACTERS * 5],
        )
    return message._replace(
        chat=_clean(message.chat),
        id=_clean(message.id),
        source_id=_short_id(_clean(message.source_id)),
        sender=_clean(message.sender)[:SENDER_CHARACTERS],
        sender_name=_clean(message.sender_name)[:SENDER_CHARACTERS],
        chat_name=_clean(message.chat_name)[:SENDER_CHARACTERS],
        text=shortened,
        is_truncated=shortened != text,
        quoted=quoted,
    )


def _clean(text: str) -> str:
    """Return the text without characters that no store takes: lone surrogates and NUL."""
    return replace_surrogates(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _short_id(source_id: str) -> str:
    """Return an id of a hostile length as its hash."""
    return source_id if len(source_id) <= SOURCE_ID_CHARACTERS else sha256(source_id.encode()).hexdigest()
