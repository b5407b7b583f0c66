"""Texts of the host for a chat: the assistant's message and its delivery, written together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...choices import Language
from ...clock import Clock
from ...model.agents.group import Group
from ...model.messages import DEFAULT_QUOTA, stream_quota_of
from ...model.record import RecordWrite
from ...ports.chat_messages import assistant_message
from ...service.service import Service

_TEXT_CHARACTERS: Final = 8_000


class Outbox:
    """`on_write` is called after each text, so that the sender looks for it at once."""

    def __init__(
        self,
        service: Service,
        clock: Clock,
        on_write: Callable[[], None] = lambda: None,
    ) -> None:
        self._service = service
        self._clock = clock
        self.on_write = on_write

    async def send(
        self, group: Group, text: str, source_id: str, origin: str, records: Sequence[RecordWrite] = ()
    ) -> None:
        """Write the text with further records, all or none. Raises `Conflict` if another writer changed one of them."""
        now = self._clock.now()
        shown = text[:_TEXT_CHARACTERS]
        message = assistant_message(group.stream, shown, group.assistant_name, source_id, now)
        queue = self._service.deliveries.queue
        delivery = queue.make(group.owner, group.chat, shown, now, origin, source_id)
        owner = await self._service.accounts.find(group.owner)
        quota = DEFAULT_QUOTA if owner is None else stream_quota_of(owner.quotas)
        attached = [*await queue.writes([delivery]), *records]
        await self._service.store.append_messages(group.owner, [message], quota, attached)
        self.on_write()

    async def language_of(self, group: Group) -> Language | None:
        """Return the language of the group's owner; None where none was chosen."""
        owner = await self._service.accounts.find(group.owner)
        return None if owner is None else owner.language
