"""Shows in each chat that its agent works, as long as it does; read from the lane of agents, so that any process may show it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from ...clock import Clock
from ...model.agents.group import GROUP_KIND, folder_of_owner, group_from
from ...ports.channel import Channel
from ...ports.full_store import FullStore
from ...service.chats.chats import WEB_CHANNEL, working_owners
from ...store_retry import StoreRetry, repeat_with_backoff

EVERY_SECONDS: Final = 4.0
"""The sign of a service disappears after about five seconds."""


class TypingSigns:
    def __init__(self, store: FullStore, channels: Mapping[str, Channel], clock: Clock) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock

    async def run(self) -> None:
        """Show the signs until cancelled."""
        await repeat_with_backoff(self._step, StoreRetry("signs of typing", self._clock), self._clock)

    async def _step(self) -> float:
        # The web channel shows no sign: pages read the lane themselves.
        if self._channels.keys() - {WEB_CHANNEL}:
            owners = await working_owners(self._store)
            await asyncio.gather(*(self._show_owner(each) for each in owners))
        return EVERY_SECONDS

    async def _show_owner(self, owner: str) -> None:
        folder = folder_of_owner(owner)
        record = None if folder is None else await self._store.get_record(GROUP_KIND, folder)
        if record is not None:
            await self.show(group_from(record).chat)

    async def show(self, chat: str) -> None:
        """Show the sign once in the chat with this address, if this process has its channel."""
        name, _, chat_id = chat.partition(":")
        channel = self._channels.get(name)
        if channel is not None:
            await channel.typing(chat_id)

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Mark a message as read, if this process has the channel of its chat."""
        name, _, chat_id = chat.partition(":")
        channel = self._channels.get(name)
        if channel is not None:
            await channel.confirm_read(chat_id, message_id)
