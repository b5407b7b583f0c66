"""Reads of the event log by cursor: a reader that resumes misses no event, and an owner sees only its own."""

from __future__ import annotations

from ...model.accounts.principal import Principal, Scope
from ...model.events.event import SequencedEvent
from ...ports.store import Feed
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page, check_position
from .owner_sequence import Gap, OwnerEvents


class Events:
    def __init__(self, feed: Feed) -> None:
        self.log = OwnerEvents(feed)

    async def after(self, principal: Principal, number: int, limit: int = 1_000) -> tuple[SequencedEvent, ...]:
        """Return the next events after a cursor, oldest first.

        An owner's cursors count its own events, an admin's all events.
        """
        _check(principal)
        check_page(None, limit)
        check_position("after", number)
        return await self.log.after(principal.owner_filter, number, limit)

    async def last(self, principal: Principal) -> int:
        """Return the cursor after which only new events follow."""
        _check(principal)
        return await self.log.last(principal.owner_filter)

    async def gap(self, principal: Principal, number: int) -> Gap | None:
        """Return a gap if events after that cursor may have been removed, or the cursor was never issued; else None."""
        _check(principal)
        return await self.log.gap(principal.owner_filter, number)


def _check(principal: Principal) -> None:
    refuse_agent(principal, "events")
    principal.require_scope(Scope.READ)
