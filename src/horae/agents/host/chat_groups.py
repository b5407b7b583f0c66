"""Groups by the address of their chat, kept in memory for two seconds, or until a group changes in this process."""

from __future__ import annotations

from typing import Final

from ...clock import Clock
from ...model.agents.group import Group
from ...service.groups.groups import Groups

MAX_AGE: Final = 2.0
_MOST: Final = 10_000


class ChatGroups:
    def __init__(self, groups: Groups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._known: dict[str, tuple[float, Group | None]] = {}

    def forget(self) -> None:
        """Read every group again: one of them has changed."""
        self._known.clear()

    async def find(self, chat: str) -> Group | None:
        now = self._clock.steady()
        at, group = self._known.get(chat, (float("-inf"), None))
        if now - at < MAX_AGE:
            return group
        if len(self._known) >= _MOST:
            self._known.clear()
        group = await self._groups.find_by_chat(chat)
        self._known[chat] = now, group
        return group
