"""Lanes: how many runs of each may go on at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ..model.checks import check_number
from ..model.lane import OWNER_LANE, LaneUse, check_lane
from ..model.principal import Principal
from ..model.refusals import refuse
from ..ports.store import Book

MOST_IN_LANE: Final = 1_000_000


class Lanes:
    def __init__(self, book: Book, told: Callable[[datetime | None], None] = lambda _due: None) -> None:
        self._book = book
        self._told = told

    async def limit(self, who: Principal, name: str, limit: int) -> LaneUse:
        """At most so many runs of this lane at once, across all nodes; with 0 nothing of it starts. Quotas of owners are
        lanes too, and an admin's business."""
        check_lane(name)
        check_number("limit", limit, 0, MOST_IN_LANE)
        if name.startswith(OWNER_LANE) and not who.admin:
            raise refuse("foreign_owner", owner=name.removeprefix(OWNER_LANE))
        await self._book.set_lane(name, limit)
        # A higher limit may have let somebody in.
        self._told(None)
        # How full it is, is told only to those who may see everybody's runs.
        seen = await self._book.lanes() if who.admin else ()
        return next((each for each in seen if each.name == name), LaneUse(name, limit, 0))
