"""Chats without a group that have written: an operator sees their names, and never their messages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ...clock import Clock
from ...model.agents.group import CHAT_CHARACTERS
from ...model.agents.known_chat import (
    KNOWN_CHAT_KIND,
    MAX_KNOWN_CHATS,
    KnownChat,
    known_chat_from,
    known_chat_record,
)
from ...model.record import RecordWrite
from ...ports.records import Records

LOG: Final = logging.getLogger("horae.agents")
_PAGE: Final = 500
_WRITE_EVERY: Final = timedelta(minutes=1)
"""A busy chat is written so often at most."""


class KnownChats:
    """Keeps the chats with the newest activity, up to a limit."""

    def __init__(self, records: Records, clock: Clock, most: int = MAX_KNOWN_CHATS) -> None:
        self._records = records
        self._clock = clock
        self._most = most
        self._seen: dict[str, datetime] | None = None

    async def note(self, chat: str, name: str, *, is_direct: bool) -> None:
        now = self._clock.now()
        seen = await self._load()
        if len(chat) > CHAT_CHARACTERS or now - seen.get(chat, now - _WRITE_EVERY) < _WRITE_EVERY:
            return
        record = await self._records.get_record(KNOWN_CHAT_KIND, chat)
        if record is None:
            LOG.warning(
                "a chat without a group has written: %s (%s); register it with: horae group add FOLDER CHANNEL:ID",
                chat,
                name,
            )
        known = KnownChat(chat, name or chat, now, is_direct, 1 if record is None else record.version)
        write = RecordWrite(known_chat_record(known), None if record is None else record.version)
        if await self._records.write_records([write]):
            seen[chat] = now
            await self._drop_oldest(seen)

    async def chats(self) -> Sequence[KnownChat]:
        """Return the chats that have no group, newest activity first."""
        page = await self._records.records(KNOWN_CHAT_KIND, None, None, self._most)
        return sorted(map(known_chat_from, page.items), key=lambda each: each.last_activity, reverse=True)

    async def forget(self, chat: str) -> None:
        """Remove a chat that a group has now."""
        seen = await self._load()
        if seen.pop(chat, None) is not None:
            await self._drop(chat)

    async def _load(self) -> dict[str, datetime]:
        if self._seen is None:
            seen: dict[str, datetime] = {}
            after: str | None = None
            while True:
                page = await self._records.records(KNOWN_CHAT_KIND, None, after, _PAGE)
                seen |= {each.chat: each.last_activity for each in map(known_chat_from, page.items)}
                after = page.after
                if after is None:
                    break
            self._seen = seen
        return self._seen

    async def _drop_oldest(self, seen: dict[str, datetime]) -> None:
        while len(seen) > self._most:
            oldest = min(seen, key=lambda chat: seen[chat])
            del seen[oldest]
            await self._drop(oldest)

    async def _drop(self, chat: str) -> None:
        record = await self._records.get_record(KNOWN_CHAT_KIND, chat)
        if record is not None:
            await self._records.drop_record(KNOWN_CHAT_KIND, chat, record.version)
