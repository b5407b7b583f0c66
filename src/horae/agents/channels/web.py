"""Web channel: chats that people read and write in the console or over HTTP; it needs no service and no settings.

Messages of people are appended by `POST /v1/chats/{chat}/messages`, in whatever process serves it, and the assistant's
messages are in the stream of the chat already: so `connect` only waits, and `send` does nothing.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final

from ...model.messages import TEXT_BYTES
from ...ports.channel import Channel, ChannelListener, ChannelTools, ConnectionState, Sent
from ...ports.text_parts import TextLimit
from .channel_settings import ChannelSettings

LIMIT: Final = TextLimit(TEXT_BYTES)


class WebChannel:
    def __init__(self, tools: ChannelTools) -> None:
        ChannelSettings("web", tools.settings, (), ())

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:  # noqa: ARG002 - messages are in the store
        listener.on_state(ConnectionState(is_connected=True))
        await asyncio.Event().wait()

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:  # noqa: ARG002 - the text is in the stream
        return Sent(key, chat)

    async def typing(self, chat: str) -> None:
        """Do nothing: pages read from the lane of the group whether its agent works."""

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Do nothing: the web channel has no read marks."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class WebKind:
    kind = "web"

    def open(self, tools: ChannelTools) -> Channel:
        return WebChannel(tools)


WEB: Final = WebKind()
