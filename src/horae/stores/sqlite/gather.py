"""The facts of many tasks at once, in a few statements that do not grow in number with the tasks."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import apsw

from ...model.change import Facts
from ...model.entry import Entry
from ...model.lane import DEFAULT_LIMIT, LaneUse, owner_lane
from ...model.reason import Reason
from ...model.run import Run
from ...model.task import Task
from .link import Link, Row
from .rows import REASONS, entry_from, run_from, standing_from, task_from
from .statements import sql

_DEFINITIONS: Final = sql("definitions")
_ENTRIES: Final = sql("entries")
_LIVE_RUNS: Final = sql("live_runs")
_LANE_USE: Final = sql("lane_use")
_BARRED: Final = sql("barred")
_BY_ID: Final = sql("standing_by_id")
_BY_KEY: Final = sql("standing_by_key")


def these(numbers: Collection[int]) -> apsw.CArrayBinding:
    return apsw.carray(array("q", numbers))


def named(names: Collection[str]) -> apsw.CArrayBinding:
    return apsw.carray(tuple(names))


class Definitions:
    """Tasks that were read before. A number and an edition name one definition for ever, unless it was rolled back."""

    _MOST: Final = 8_192
    _HEAVIEST: Final = 8_000_000
    """Characters of payload; a cache of the largest ones must not fill the memory."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Task]] = {}
        self._weight = 0

    def of(self, link: Link, wanted: Mapping[int, int]) -> dict[int, Task]:
        """By number, each in the edition that is wanted."""
        found: dict[int, Task] = {}
        missing: list[int] = []
        known = self._known
        for task, edition in wanted.items():
            held = known.get(task)
            if held is not None and held[0] == edition:
                found[task] = held[1]
            else:
                missing.append(task)
        if missing:
            for row in link.query(_DEFINITIONS, (these(missing),)):
                found[row[0]] = self._keep(row[0], wanted[row[0]], task_from(row))
        return found

    def _keep(self, number: int, edition: int, task: Task) -> Task:
        if len(self._known) >= self._MOST or self._weight >= self._HEAVIEST:
            self.forget()
        self._weight += len(task.payload)
        self._known[number] = (edition, task)
        return task

    def forget(self) -> None:
        self._known.clear()
        self._weight = 0


class Surroundings:
    """Lanes and barred owners, kept up to date while one slice is decided."""

    def __init__(self, link: Link, tasks: Iterable[Task]) -> None:
        self._by_owner: dict[str, str | None] = {task.owner: None for task in tasks}
        lanes = {task.lane for task in tasks if task.lane is not None}
        owners = {owner_lane(owner): owner for owner in self._by_owner}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self.barred: dict[str, Reason | None] = {}
        if not self._by_owner:
            return
        for name, limit, taken in link.query(_LANE_USE, (named(lanes | owners.keys()),)):
            self._limits[name] = DEFAULT_LIMIT if limit is None else limit
            self._taken[name] = taken
            if limit is not None and name in owners:
                self._by_owner[owners[name]] = name
        for owner, reason in link.query(_BARRED, (named(self._by_owner),)):
            self.barred[owner] = REASONS[reason]

    def lanes_of(self, task: Task) -> tuple[LaneUse, ...]:
        mine = self._by_owner[task.owner]
        if task.lane is None:
            return () if mine is None else (self._use(mine),)
        if mine is None or mine == task.lane:
            return (self._use(task.lane),)
        return self._use(task.lane), self._use(mine)

    def _use(self, lane: str) -> LaneUse:
        return LaneUse(lane, self._limits[lane], self._taken[lane])

    def refresh(self, newer: Surroundings) -> None:
        self._by_owner |= newer._by_owner
        self._limits |= newer._limits
        self._taken |= newer._taken

    def taken(self, lanes: Iterable[str], by: int) -> None:
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += by


class Gathered:
    """What belongs to the tasks of a slice."""

    def __init__(self, link: Link, definitions: Definitions, editions: Mapping[int, int]) -> None:
        self._link = link
        self.tasks = definitions.of(link, editions)
        self.surroundings = Surroundings(link, self.tasks.values())
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self.live: dict[int, tuple[Run, ...]] = {}
        self.run_numbers: dict[str, int] = {}

    def read_entries(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in self._link.query(_ENTRIES, (these(numbers),)):
                task = row[0]
                self.entries[task] = (*self.entries.get(task, ()), entry_from(row, self.tasks[task].id))

    def read_live(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in self._link.query(_LIVE_RUNS, (these(numbers),)):
                task = row[2]
                self.live[task] = (*self.live.get(task, ()), run_from(row, self.tasks[task].id))
                self.run_numbers[row[1]] = row[0]

    def refresh(self, newer: Gathered) -> None:
        """The tasks of `newer` have changed since this was gathered."""
        for number in newer.tasks:
            self.entries.pop(number, None)
            self.live.pop(number, None)
        self.tasks |= newer.tasks
        self.entries |= newer.entries
        self.live |= newer.live
        self.run_numbers |= newer.run_numbers
        self.surroundings.refresh(newer.surroundings)

    def facts(self, number: int, standing: Row) -> Facts:
        task = self.tasks[number]
        return Facts(
            task,
            standing_from(standing),
            self.entries.get(number, ()),
            self.live.get(number, ()),
            self.surroundings.lanes_of(task),
            self.surroundings.barred.get(task.owner),
        )


def one_by_id(link: Link, task_id: str) -> Row | None:
    """Number, owner and standing."""
    rows = link.query(_BY_ID, (task_id,))
    return rows[0] if rows else None


def one_by_key(link: Link, owner: str, key: str) -> Row | None:
    rows = link.query(_BY_KEY, (owner, key))
    return rows[0] if rows else None


def everything_of(link: Link, definitions: Definitions, row: Row) -> tuple[Gathered, Facts]:
    """All that a decision on one task may see; the row is what `one_by_id` or `one_by_key` found."""
    number, _, edition = row[:3]
    gathered = Gathered(link, definitions, {number: edition})
    gathered.read_entries((number,))
    gathered.read_live((number,))
    return gathered, gathered.facts(number, row[2:])
