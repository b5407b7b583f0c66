"""Lanes, and who is barred, kept up to date while one request decides."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import apsw

from ...model.lane import DEFAULT_LIMIT, LaneUse, also_barred_as, owner_lane
from ...model.reason import Reason
from ...model.task import Task
from ..codec.rows import REASONS
from .connection import Link
from .statements import sql

_LANE_USE: Final = sql("lane_use")
_BARRED: Final = sql("barred")


def named(names: Collection[str]) -> apsw.CArrayBinding:
    return apsw.carray(tuple(names))


class Surroundings:
    def __init__(self, link: Link, tasks: Collection[Task]) -> None:
        self._link = link
        self._lane_of_owner: dict[str, str | None] = {task.owner: None for task in tasks}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._barred: dict[str, Reason | None] = {}
        self.quiet = True
        """Nobody sits in any lane, and nobody is barred."""
        if self._lane_of_owner:
            lanes = {task.lane for task in tasks if task.lane is not None}
            self._read_lanes(lanes)
            self.quiet = not lanes and not any(self._lane_of_owner.values())
            for name, reason in link.query(_BARRED, (named(self._lane_of_owner.keys() | lanes),)):
                self._barred[name] = REASONS[reason]
                self.quiet = False

    def _read_lanes(self, lanes: set[str]) -> None:
        owners = {owner_lane(owner): owner for owner in self._lane_of_owner}
        for name, limit, taken in self._link.query(_LANE_USE, (named(lanes | owners.keys()),)):
            self._limits[name] = DEFAULT_LIMIT if limit is None else limit
            self._taken[name] = taken
            if limit is not None and name in owners:
                self._lane_of_owner[owners[name]] = name

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
        if lane not in self._limits:
            # The task was given this lane a moment ago, by a decision of the same request.
            self._read_lanes({lane})
        return LaneUse(lane, self._limits[lane], self._taken[lane])

    def taken(self, lanes: Iterable[str], by: int) -> None:
        """So many seats more, or fewer, are taken in each of these lanes."""
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += by
