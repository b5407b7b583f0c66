"""The event log, read on from a number: nobody who resumes misses anything, and everybody sees only what is theirs."""

from __future__ import annotations

from ...model.accounts.principal import Principal, Scope
from ...model.events.event import Sequenced
from ...ports.store import Feed
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page, check_position
from .owner_sequence import Gap, OwnerEvents


class Events:
    def __init__(self, feed: Feed) -> None:
        self.log = OwnerEvents(feed)

    async def after(self, who: Principal, number: int, limit: int = 1_000) -> tuple[Sequenced, ...]:
        """The next events after a cursor, oldest first: an owner's cursors count the owner's events, an admin's all events."""
        _check(who)
        check_page(None, limit)
        check_position("after", number)
        return await self.log.after(who.scope, number, limit)

    async def last(self, who: Principal) -> int:
        """The cursor from which only new events follow."""
        _check(who)
        return await self.log.last(who.scope)

    async def gap(self, who: Principal, number: int) -> Gap | None:
        """Whether something after that cursor may have been removed, or that cursor was never given out."""
        _check(who)
        return await self.log.gap(who.scope, number)


def _check(who: Principal) -> None:
    refuse_agent(who, "events")
    who.must(Scope.READ)
