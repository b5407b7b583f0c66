"""Lanes, and who is barred, kept up to date while one transaction decides.

Whoever may take or free a seat holds the row of that lane until the transaction ends, so two nodes never take the same
seat. A task without a lane, whose owner has no limit, holds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...model.lane import DEFAULT_LIMIT, LaneUse, also_barred_as, owner_lane
from ...model.reason import Reason
from ...model.task import Task
from ..codec.rows import REASONS
from .connection import Link


class Surroundings:
    def __init__(self) -> None:
        self._lane_of_owner: dict[str, str | None] = {}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._barred: dict[str, Reason | None] = {}
        self.quiet = True
        """Nobody sits in any lane, and nobody is barred."""

    async def read(
        self, link: Link, tasks: Collection[Task], lanes: Iterable[str] = (), *, alone: bool = False
    ) -> None:
        """For these tasks, and the lanes that their runs and entries know of. `alone`: no owner has a limit or is barred."""
        self._lane_of_owner = {task.owner: None for task in tasks}
        wanted = {task.lane for task in tasks if task.lane is not None} | set(lanes)
        if not alone and self._lane_of_owner:
            wanted |= await self._owners(link, {task.lane for task in tasks if task.lane is not None})
        if wanted:
            self.quiet = False
            await self.hold(link, wanted)

    async def _owners(self, link: Link, lanes: set[str]) -> set[str]:
        owners = {owner_lane(owner): owner for owner in self._lane_of_owner}
        found: set[str] = set()
        for kind, name, reason in await link.query("owners", list(owners), [*self._lane_of_owner, *lanes]):
            if kind == "lane":
                self._lane_of_owner[owners[name]] = name
                found.add(name)
            else:
                self._barred[name] = REASONS[reason]
                self.quiet = False
        return found

    async def hold(self, link: Link, lanes: Iterable[str]) -> None:
        """Nobody else changes who sits in these lanes, or waits for them, until the transaction ends."""
        missing = sorted(lane for lane in lanes if lane not in self._limits)
        if not missing:
            return
        held: dict[str, int | None] = dict(await link.query("hold_lanes", missing))
        while len(held) < len(missing):
            await link.query("make_lanes", [name for name in missing if name not in held])
            held = dict(await link.query("hold_lanes", missing))
        # Only now: what was counted before the lanes were held may be out of date.
        seats_taken: dict[str, int] = dict(await link.query("seats_taken", missing))
        for name, seats in held.items():
            self._limits[name] = DEFAULT_LIMIT if seats is None else seats
            self._taken[name] = seats_taken.get(name, 0)

    def lanes_of(self, task: Task) -> tuple[LaneUse, ...]:
        lane, mine = task.lane, self._lane_of_owner.get(task.owner)
        if lane is None:
            return () if mine is None else (self._use(mine),)
        if mine is None or mine == lane:
            return (self._use(lane),)
        return self._use(lane), self._use(mine)

    def barred(self, task: Task) -> Reason | None:
        return self._barred.get(task.owner) or self._barred.get(also_barred_as(task.owner, task.lane))

    def _use(self, lane: str) -> LaneUse:
        return LaneUse(lane, self._limits[lane], self._taken[lane])

    def taken(self, lanes: Iterable[str], by: int) -> None:
        """So many seats more, or fewer, are taken in each of these lanes."""
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += by

    def free_in(self, lane: str) -> int:
        return max(0, self._limits[lane] - self._taken[lane])
