"""Lanes: how many runs of each may go on at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.field_checks import check_number
from ...model.lane import LaneUse, check_lane, own_lanes
from ...ports.records import Records
from ...ports.store import Book
from ..accounts.audit import Audit
from ..accounts.refusals import refuse
from ..accounts.rights import lane_of, refuse_agent

MOST_IN_LANE: Final = 1_000_000
MOST_LANES: Final = 100
"""Of an owner that is no admin."""


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


class Lanes:
    """Lanes of everybody, and the quotas of owners, are an admin's business; others have lanes of their own."""

    def __init__(
        self, store: Keeping, clock: Clock, told: Callable[[datetime | None], None] = lambda _due: None
    ) -> None:
        self._store = store
        self._audit = Audit(store, clock)
        self._told = told

    async def all(self, who: Principal) -> tuple[LaneUse, ...]:
        """Every lane that has a limit or somebody in it, by name; of others than admins, their own."""
        refuse_agent(who, "lanes")
        who.must(Scope.READ)
        return tuple(each for each in await self._store.lanes() if _sees(who, each.name))

    async def limit(self, who: Principal, name: str, limit: int) -> LaneUse:
        """At most so many runs of this lane at once, across all nodes; with 0 nothing of it starts."""
        refuse_agent(who, "lanes")
        who.must(Scope.WRITE)
        check_lane(name)
        check_number("limit", limit, 0, MOST_IN_LANE)
        meant = lane_of(who, who.owner, name)
        if not _sees(who, meant):
            who.must(Scope.ADMIN)
        check_lane(meant)
        await self._refuse_too_many(who, meant)
        await self._store.set_lane(meant, limit, beside=self._audit.row(who, "lane.limit", meant, {"limit": limit}))
        # A higher limit may have let somebody in.
        self._told(None)
        return next((each for each in await self._store.lanes() if each.name == meant), LaneUse(meant, limit, 0))

    async def _refuse_too_many(self, who: Principal, meant: str) -> None:
        """Everybody's lanes are looked at together, so nobody may have any number of them."""
        if who.scope is None:
            return
        own = [each.name for each in await self._store.lanes() if _sees(who, each.name)]
        if len(own) >= MOST_LANES and meant not in own:
            raise refuse("too_many_lanes", most=MOST_LANES)


def _sees(who: Principal, lane: str) -> bool:
    return who.scope is None or lane.startswith(own_lanes(who.owner))
