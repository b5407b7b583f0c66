"""Load the facts of many tasks in a fixed number of statements, from the task cache where the version matches.

Lane use and blocked owners are updated in memory as the decisions of a request take and free lane slots.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import apsw

from ...model.change import Change, Facts
from ...model.entry import Entry
from ...model.lane import DEFAULT_LIMIT, LaneUse, blocked_lane_name, owner_lane
from ...model.reason import Reason
from ...model.task import Task
from ..codec.columns import (
    TaskVersion,
    decode_live_run_numbers,
    decode_versioned_task,
    entry_task,
    run_number,
    run_task,
)
from ..codec.rows import REASONS, decode_entry, decode_run, new_tuple
from ..task_cache import CachedTask, TaskCache
from .connection import SqliteConnection, sql

_TASKS: Final = sql("tasks")
_ENTRIES: Final = sql("entries")
_LIVE_RUNS: Final = sql("live_runs")
_TASK_BY_ID: Final = sql("number_by_id")
_TASK_BY_KEY: Final = sql("number_by_key")
_NO_EXISTING_RUNS: Final[frozenset[str]] = frozenset()


def bind_numbers(numbers: Collection[int]) -> apsw.CArrayBinding:
    return apsw.carray(array("q", numbers))


class LoadedFacts:
    """Facts of the tasks of one request, updated as its decisions are made one after the other."""

    def __init__(self, connection: SqliteConnection, cache: TaskCache, versions: Mapping[int, int]) -> None:
        self._connection = connection
        self.tasks = cache.get_current(versions)
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self._missing = [number for number in versions if number not in self.tasks]
        if self._missing:
            self._read_tasks(self._missing)
        self.lane_state = LaneState(connection, [cached.task for cached in self.tasks.values()])

    def _read_tasks(self, numbers: Collection[int]) -> None:
        live_numbers: list[int] = []
        for row in self._connection.query(_TASKS, (bind_numbers(numbers),)):
            cached = new_tuple(CachedTask, (*decode_versioned_task(row), (), ()))
            self.tasks[cached.number] = cached
            live_numbers += decode_live_run_numbers(row)
        if live_numbers:
            for row in self._connection.query(_LIVE_RUNS, (bind_numbers(live_numbers),)):
                cached = self.tasks[run_task(row)]
                live = (*cached.live, decode_run(row, cached.task.id))
                numbers_of_live = (*cached.numbers, run_number(row))
                self.tasks[cached.number] = cached._replace(live=live, numbers=numbers_of_live)

    def read_entries(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in self._connection.query(_ENTRIES, (bind_numbers(numbers),)):
                number = entry_task(row)
                entry = decode_entry(row, self.tasks[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    def update_cache(self, cache: TaskCache) -> None:
        """Cache the tasks that were read, in the cache of readers; tasks with live runs are not cached."""
        fresh = [self.tasks[number] for number in self._missing]
        cache.update({cached.number: cached for cached in fresh if not cached.live})

    def build_facts(self, cached: CachedTask, entries: tuple[Entry, ...]) -> Facts:
        _, _, task, status, live, _ = cached
        lane_state = self.lane_state
        if lane_state.is_unrestricted and task.lane is None:
            return new_tuple(Facts, (task, status, entries, live, (), None, _NO_EXISTING_RUNS))
        return Facts(task, status, entries, live, lane_state.lane_uses(task), lane_state.block_reason(task))

    def update_entries(self, number: int, change: Change, entries: tuple[Entry, ...]) -> None:
        """Apply the change to the loaded entries of a task, for the next decision on it."""
        slots = {entry.slot: entry for entry in entries if entry.slot not in change.dropped}
        slots.update((entry.slot, entry) for entry in change.put)
        self.entries[number] = tuple([slots[slot] for slot in sorted(slots)])


def find_task_by_id(connection: SqliteConnection, task_id: str) -> TaskVersion | None:
    return next(map(TaskVersion._make, connection.query(_TASK_BY_ID, (task_id,))), None)


def find_task_by_key(connection: SqliteConnection, owner: str, key: str) -> TaskVersion | None:
    return next(map(TaskVersion._make, connection.query(_TASK_BY_KEY, (owner, key))), None)


def load_task_facts(
    connection: SqliteConnection, cache: TaskCache, task: TaskVersion
) -> tuple[LoadedFacts, CachedTask, Facts]:
    """Load everything that a decision on one task uses."""
    number, _, version = task
    loaded = LoadedFacts(connection, cache, {number: version})
    loaded.read_entries((number,))
    cached = loaded.tasks[number]
    return loaded, cached, loaded.build_facts(cached, loaded.entries.get(number, ()))


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
