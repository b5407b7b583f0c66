"""Lanes: list them, and limit how many runs of a lane go on at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.field_checks import check_number
from ...model.lane import LaneQueue, LaneUse, check_lane, owner_lane_prefix
from ...ports.full_store import FullStore
from ..accounts.audit import Audit, changed_values
from ..accounts.refusals import refuse
from ..accounts.rights import full_lane_name, refuse_agent
from ..query.argument_checks import check_page

MAX_LANE_LIMIT: Final = 1_000_000
MAX_LANES: Final = 100
"""Limit for an owner that is no admin."""


class Lanes:
    """Shared lanes and the quotas of owners are for admins only; other owners have lanes of their own."""

    def __init__(
        self, store: FullStore, clock: Clock, on_write: Callable[[datetime | None], None] = lambda _due: None
    ) -> None:
        self._store = store
        self._audit = Audit(store, clock)
        self._on_write = on_write

    async def all(self, principal: Principal) -> tuple[LaneUse, ...]:
        """Return every lane that has a limit or a live run, by name; for owners that are no admins, their own."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        return tuple(each for each in await self._store.lanes() if _sees(principal, each.name))

    async def queues(self, principal: Principal) -> tuple[LaneQueue, ...]:
        """Return the lanes in which due entries wait for a slot, by name; for owners that are no admins, their own."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        return tuple(each for each in await self._store.lane_queues() if _sees(principal, each.lane))

    async def queued(self, principal: Principal, name: str, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks that wait for a slot of this lane, by priority, then by due; owners take turns."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        check_page(None, limit)
        return await self._store.queued(name, limit) if _sees(principal, name) else ()

    async def limit(self, principal: Principal, name: str, limit: int) -> LaneUse:
        """Limit the runs of this lane that go on at once, across all nodes; with 0 none starts."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.WRITE)
        check_lane(name)
        check_number("limit", limit, 0, MAX_LANE_LIMIT)
        lane = full_lane_name(principal, principal.owner, name)
        if not _sees(principal, lane):
            principal.require_scope(Scope.ADMIN)
        check_lane(lane)
        lanes = await self._store.lanes()
        _check_count(principal, lane, lanes)
        before = next((each.limit for each in lanes if each.name == lane), None)
        detail = {"limit": limit, **changed_values({"limit": before}, {"limit": limit})}
        row = self._audit.row(principal, "lane.limit", lane, detail)
        await self._store.set_lane(lane, limit, attached_records=row)
        # A higher limit may have freed lane slots.
        self._on_write(None)
        return next((each for each in await self._store.lanes() if each.name == lane), LaneUse(lane, limit, 0))


def _check_count(principal: Principal, lane: str, lanes: Sequence[LaneUse]) -> None:
    """Bound the number of lanes per owner, because the store reads the lanes of all owners together."""
    if principal.owner_filter is None:
        return
    own = [each.name for each in lanes if _sees(principal, each.name)]
    if len(own) >= MAX_LANES and lane not in own:
        raise refuse("too_many_lanes", most=MAX_LANES)


def _sees(principal: Principal, lane: str) -> bool:
    return principal.owner_filter is None or lane.startswith(owner_lane_prefix(principal.owner))
