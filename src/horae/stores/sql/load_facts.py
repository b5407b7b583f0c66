"""Bulk loading of facts: tasks, live runs, entries and lanes of many tasks in a constant number of statements.

A transaction that decides locks the status rows of its tasks first and reads everything else after that: a statement that
waited for a row lock may otherwise see the other rows as they were before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ...model.change import Change, Facts
from ...model.entry import Entry, EntryState
from ...model.lane import DEFAULT_LIMIT, LaneUse, blocked_lane_name, owner_lane
from ...model.reason import Reason
from ...model.route import is_route
from ...model.task import Task
from ..codec.columns import decode_versioned_task, entry_task, live_and_entry_counts, run_task
from ..codec.rows import REASONS, decode_entry, decode_run, new_tuple
from ..task_cache import CachedTask, TaskCache
from .connection import Connection

_NO_EXISTING_RUNS: Final[frozenset[str]] = frozenset()


class LoadedFacts:
    """Facts of the tasks of one transaction, updated after each decision so that the next one sees its result."""

    def __init__(self, cache: TaskCache, versions: Mapping[int, int]) -> None:
        self.versions = versions
        self.tasks = cache.get_current(versions)
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self.entry_counts: dict[int, int] = {}
        """Number of agenda entries, by task; only for tasks that were not in the cache."""
        self.lane_state = LaneState()

    async def read_tasks(self, connection: Connection) -> None:
        """Read the tasks that the cache does not hold at their current version."""
        numbers = [number for number in self.versions if number not in self.tasks]
        if not numbers:
            return
        with_live_runs: list[int] = []
        for row in await connection.query("tasks", numbers):
            known = new_tuple(CachedTask, (*decode_versioned_task(row), (), ()))
            number = known.number
            self.tasks[number] = known
            live_count, self.entry_counts[number] = live_and_entry_counts(row)
            if live_count:
                with_live_runs.append(number)
        if with_live_runs:
            await self._read_runs(connection, with_live_runs)

    async def _read_runs(self, connection: Connection, numbers: list[int]) -> None:
        for row in await connection.query("live_runs", numbers):
            number = run_task(row)
            known = self.tasks[number]
            live = (*known.live, decode_run(row, known.task.id))
            self.tasks[number] = known._replace(live=live, numbers=(0,) * len(live))

    async def read_entries(self, connection: Connection, numbers: Collection[int]) -> None:
        if numbers:
            for row in await connection.query("entries", list(numbers)):
                number = entry_task(row)
                entry = decode_entry(row, self.tasks[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    async def read_lane_state(self, connection: Connection, *, alone: bool = False) -> None:
        tasks = [known.task for known in self.tasks.values()]
        lanes = {lane for known in self.tasks.values() for run in known.live for lane in run.lanes}
        lanes.update(self._lanes_of_entries())
        await self.lane_state.read(connection, tasks, lanes, alone=alone)
        await self._reread_parked_entries(connection)

    async def _reread_parked_entries(self, connection: Connection) -> None:
        """Read entries that are parked for a lane again, now that the lanes are locked: the previous lock holder may have
        unparked one for a free slot. Written back as parked, it would wait for ever and the slot would stay empty."""
        parked = [number for number, entries in self.entries.items() if any(map(_is_parked_for_lane, entries))]
        for number in parked:
            del self.entries[number]
        await self.read_entries(connection, parked)

    def _lanes_of_entries(self) -> Iterable[str]:
        """Yield the lanes that entries of these tasks wait for, or waited for. Routes are no lanes and have no slots."""
        for entries in self.entries.values():
            for entry in entries:
                if entry.lane is not None and not is_route(entry.lane):
                    yield entry.lane

    def build_facts(self, known: CachedTask, entries: tuple[Entry, ...]) -> Facts:
        _, _, task, standing, live, _ = known
        lane_state = self.lane_state
        if lane_state.is_unrestricted and task.lane is None:
            return new_tuple(Facts, (task, standing, entries, live, (), None, _NO_EXISTING_RUNS))
        return Facts(task, standing, entries, live, lane_state.lane_uses(task), lane_state.block_reason(task))

    def update_entries(self, number: int, change: Change, entries: tuple[Entry, ...]) -> None:
        """Apply the change to the loaded entries of a task, for the next decision on it."""
        slots = {entry.slot: entry for entry in entries if entry.slot not in change.dropped}
        slots.update((entry.slot, entry) for entry in change.put)
        self.entries[number] = tuple([slots[slot] for slot in sorted(slots)])


def _is_parked_for_lane(entry: Entry) -> bool:
    return entry.state is EntryState.PARKED and entry.lane is not None and not is_route(entry.lane)


async def load_task_facts(
    connection: Connection, cache: TaskCache, number: int, version: int
) -> tuple[LoadedFacts, CachedTask, Facts]:
    """Load all facts of one task that a decision may use."""
    loaded = LoadedFacts(cache, {number: version})
    await loaded.read_tasks(connection)
    await loaded.read_entries(connection, (number,))
    await loaded.read_lane_state(connection)
    known = loaded.tasks[number]
    return loaded, known, loaded.build_facts(known, loaded.entries.get(number, ()))


async def find_task_by_id(connection: Connection, task_id: str) -> tuple[int, str] | None:
    """Return number and owner of a task; None if there is no such task."""
    rows = await connection.query("number_by_id", task_id)
    return next(((number, owner) for number, owner in rows), None)


async def lock_task(connection: Connection, number: int) -> int | None:
    """Lock a task until the transaction ends and return its version; None if the task was deleted."""
    return next((version for _, version, _ in await connection.query("lock_tasks", [number])), None)


class LaneState:
    """Lanes and blocked owners during one transaction: limits, slots in use, and why an owner is blocked.

    A transaction that may take or free a lane slot locks the row of that lane until it ends, so two nodes never take the
    same slot. A task without a lane, whose owner has no limit, locks nothing.
    """

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
