"""Load the facts of many tasks in a fixed number of statements, from the task cache where the version matches."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from typing import Final

import apsw

from ...model.change import Change, Facts
from ...model.entry import Entry
from ..codec.rows import TASK_WIDTH, decode_entry, decode_run, decode_status, decode_task, new_tuple
from ..task_cache import CachedTask, TaskCache
from .connection import Row, SqliteConnection
from .lane_state import LaneState
from .statements import sql

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
            number = row[0]
            parts = (number, row[TASK_WIDTH], decode_task(row), decode_status(row, TASK_WIDTH + 1), (), ())
            self.tasks[number] = new_tuple(CachedTask, parts)
            if row[-1] is not None:
                live_numbers += map(int, row[-1].split(","))
        if live_numbers:
            for row in self._connection.query(_LIVE_RUNS, (bind_numbers(live_numbers),)):
                cached = self.tasks[row[2]]
                live = (*cached.live, decode_run(row, cached.task.id))
                self.tasks[row[2]] = cached._replace(live=live, numbers=(*cached.numbers, row[0]))

    def read_entries(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in self._connection.query(_ENTRIES, (bind_numbers(numbers),)):
                number = row[0]
                entry = decode_entry(row, self.tasks[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    def update_cache(self, cache: TaskCache) -> None:
        """Cache the tasks that were read, in the cache of readers; tasks with live runs are not cached."""
        fresh = [self.tasks[number] for number in self._missing]
        cache.update({cached.number: cached for cached in fresh if not cached.live})

    def build_facts(self, cached: CachedTask, entries: tuple[Entry, ...]) -> Facts:
        _, _, task, status, live, _ = cached
        lane_state = self.lane_state
        if lane_state.is_unrestricted and task[9] is None:
            return new_tuple(Facts, (task, status, entries, live, (), None, _NO_EXISTING_RUNS))
        return Facts(task, status, entries, live, lane_state.lane_uses(task), lane_state.block_reason(task))

    def update_entries(self, number: int, change: Change, entries: tuple[Entry, ...]) -> None:
        """Apply the change to the loaded entries of a task, for the next decision on it."""
        slots = {entry.slot: entry for entry in entries if entry.slot not in change.dropped}
        slots.update((entry.slot, entry) for entry in change.put)
        self.entries[number] = tuple([slots[slot] for slot in sorted(slots)])


def find_task_by_id(connection: SqliteConnection, task_id: str) -> Row | None:
    """Return number, owner and version of a task, or None."""
    rows = connection.query(_TASK_BY_ID, (task_id,))
    return rows[0] if rows else None


def find_task_by_key(connection: SqliteConnection, owner: str, key: str) -> Row | None:
    rows = connection.query(_TASK_BY_KEY, (owner, key))
    return rows[0] if rows else None


def load_task_facts(connection: SqliteConnection, cache: TaskCache, row: Row) -> tuple[LoadedFacts, CachedTask, Facts]:
    """Load everything that a decision on one task uses; `row` comes from `find_task_by_id` or `find_task_by_key`."""
    number, _, version = row
    loaded = LoadedFacts(connection, cache, {number: version})
    loaded.read_entries((number,))
    cached = loaded.tasks[number]
    return loaded, cached, loaded.build_facts(cached, loaded.entries.get(number, ()))
