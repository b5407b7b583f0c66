"""Lane use and blocked owners of one request, updated in memory as its decisions take and free lane slots."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import apsw

from ...model.lane import DEFAULT_LIMIT, LaneUse, blocked_lane_name, owner_lane
from ...model.reason import Reason
from ...model.task import Task
from ..codec.rows import REASONS
from .connection import SqliteConnection
from .statements import sql

_LANE_USE: Final = sql("lane_use")
_BLOCKED_OWNERS: Final = sql("blocked_owners")


def bind_names(names: Collection[str]) -> apsw.CArrayBinding:
    return apsw.carray(tuple(names))


class LaneState:
    def __init__(self, connection: SqliteConnection, tasks: Collection[Task]) -> None:
        self._connection = connection
        self._lane_of_owner: dict[str, str | None] = {task.owner: None for task in tasks}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._blocked: dict[str, Reason | None] = {}
        self.is_unrestricted = True
        """No task has a lane, and no owner is limited or blocked."""
        if self._lane_of_owner:
            lanes = {task.lane for task in tasks if task.lane is not None}
            self._read_lanes(lanes)
            self.is_unrestricted = not lanes and not any(self._lane_of_owner.values())
            for name, reason in connection.query(_BLOCKED_OWNERS, (bind_names(self._lane_of_owner.keys() | lanes),)):
                self._blocked[name] = REASONS[reason]
                self.is_unrestricted = False

    def _read_lanes(self, lanes: set[str]) -> None:
        owners = {owner_lane(owner): owner for owner in self._lane_of_owner}
        for name, limit, taken in self._connection.query(_LANE_USE, (bind_names(lanes | owners.keys()),)):
            self._limits[name] = DEFAULT_LIMIT if limit is None else limit
            self._taken[name] = taken
            if limit is not None and name in owners:
                self._lane_of_owner[owners[name]] = name

    def lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        lane, owners_lane = task.lane, self._lane_of_owner.get(task.owner)
        if lane is None:
            return () if owners_lane is None else (self._use(owners_lane),)
        if owners_lane is None or owners_lane == lane:
            return (self._use(lane),)
        return self._use(lane), self._use(owners_lane)

    def block_reason(self, task: Task) -> Reason | None:
        return self._blocked.get(task.owner) or self._blocked.get(blocked_lane_name(task.owner, task.lane))

    def _use(self, lane: str) -> LaneUse:
        if lane not in self._limits:
            # An earlier decision of this request gave the task this lane.
            self._read_lanes({lane})
        return LaneUse(lane, self._limits[lane], self._taken[lane])

    def add_taken(self, lanes: Iterable[str], slots: int) -> None:
        """Add `slots` (may be negative) to the number of taken slots of each lane."""
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += slots
