"""State of lanes and blocked owners during one transaction: limits, slots in use, and the reason why an owner is blocked.

A transaction that may take or free a lane slot locks the row of that lane until it ends, so two nodes never take the same
slot. A task without a lane, whose owner has no limit, locks nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...model.lane import DEFAULT_LIMIT, LaneUse, blocked_lane_name, owner_lane
from ...model.reason import Reason
from ...model.task import Task
from ..codec.rows import REASONS
from .connection import Connection


class LaneState:
    def __init__(self) -> None:
        self._lane_of_owner: dict[str, str | None] = {}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._block_reasons: dict[str, Reason | None] = {}
        self.is_unrestricted = True
        """True if no lane and no blocked owner concerns these tasks."""

    async def read(
        self, connection: Connection, tasks: Collection[Task], lanes: Iterable[str] = (), *, alone: bool = False
    ) -> None:
        """Read and lock the lanes of these tasks and the given ones. `alone`: no owner has a limit or is blocked."""
        self._lane_of_owner = {task.owner: None for task in tasks}
        needed = {task.lane for task in tasks if task.lane is not None} | set(lanes)
        if not alone and self._lane_of_owner:
            needed |= await self._read_owners(connection, {task.lane for task in tasks if task.lane is not None})
        if needed:
            self.is_unrestricted = False
            await self.lock_lanes(connection, needed)

    async def _read_owners(self, connection: Connection, lanes: set[str]) -> set[str]:
        owners = {owner_lane(owner): owner for owner in self._lane_of_owner}
        owner_lanes: set[str] = set()
        for kind, name, reason in await connection.query(
            "limits_and_blocks_of_owners", list(owners), [*self._lane_of_owner, *lanes]
        ):
            if kind == "lane":
                self._lane_of_owner[owners[name]] = name
                owner_lanes.add(name)
            else:
                self._block_reasons[name] = REASONS[reason]
                self.is_unrestricted = False
        return owner_lanes

    async def lock_lanes(self, connection: Connection, lanes: Iterable[str]) -> None:
        """Lock these lanes: until the transaction ends, no other one changes their slots or waiting entries."""
        missing = sorted(lane for lane in lanes if lane not in self._limits)
        if not missing:
            return
        limits: dict[str, int | None] = dict(await connection.query("lock_lanes", missing))
        while len(limits) < len(missing):
            await connection.query("insert_lanes", [name for name in missing if name not in limits])
            limits = dict(await connection.query("lock_lanes", missing))
        # Count only now: a count from before the locks may be out of date.
        taken: dict[str, int] = dict(await connection.query("count_lane_slots", missing))
        for name, limit in limits.items():
            self._limits[name] = DEFAULT_LIMIT if limit is None else limit
            self._taken[name] = taken.get(name, 0)

    def lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        lane, own_lane = task.lane, self._lane_of_owner.get(task.owner)
        if lane is None:
            return () if own_lane is None else (self._use(own_lane),)
        if own_lane is None or own_lane == lane:
            return (self._use(lane),)
        return self._use(lane), self._use(own_lane)

    def block_reason(self, task: Task) -> Reason | None:
        return self._block_reasons.get(task.owner) or self._block_reasons.get(blocked_lane_name(task.owner, task.lane))

    def _use(self, lane: str) -> LaneUse:
        return LaneUse(lane, self._limits[lane], self._taken[lane])

    def add_taken(self, lanes: Iterable[str], by: int) -> None:
        """Add `by` (which may be negative) to the slots in use of each of these lanes."""
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += by

    def free_slots(self, lane: str) -> int:
        return max(0, self._limits[lane] - self._taken[lane])
