"""The event log, read on from a number: nobody who resumes misses anything, and everybody sees only what is theirs."""

from __future__ import annotations

from ..model.event import Numbered
from ..model.principal import Principal, Scope
from ..ports.store import Feed
from .checks import check_page, check_position
from .rights import refuse_agent


class Events:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def after(self, who: Principal, number: int, limit: int = 1_000) -> tuple[Numbered, ...]:
        """The next events after a number, oldest first."""
        refuse_agent(who, "events")
        who.must(Scope.READ)
        check_page(None, limit)
        check_position("after", number)
        return await self._feed.events(number, limit, who.scope)

    async def last(self) -> int:
        """Where to begin for those who want only news."""
        return await self._feed.last_event()
