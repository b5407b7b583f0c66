"""Bulk loading of facts: tasks, live runs, entries and lanes of many tasks in a constant number of statements.

A transaction that decides locks the status rows of its tasks first and reads everything else after that: a statement that
waited for a row lock may otherwise see the other rows as they were before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from ...model.accounts.system_owner import account_of
from ...model.change import Facts
from ...model.entry import Entry, EntryState
from ...model.lanes.idle import IDLE_RUNS_KIND
from ...model.lanes.lane import DEFAULT_LIMIT, owner_lane
from ...model.lanes.route import is_route
from ...model.task import Task
from ..codec.columns import decode_versioned_task, entry_task, live_and_entry_counts, run_task
from ..codec.rows import REASONS, decode_entry, decode_record, decode_run, new_tuple
from ..loaded_facts import LaneCounts, LaneRate, TaskFacts
from ..task_cache import CachedTask, TaskCache
from .claims.lane_rates import decode_rate, read_starts_left
from .connection import Statements
from .row_batches import flatten_rows


class LoadedFacts(TaskFacts["LaneState"]):
    """Facts of the tasks of one transaction, updated after each decision so that the next one sees its result."""

    def __init__(self, connection: Statements, cache: TaskCache, versions: Mapping[int, int]) -> None:
        self._connection = connection
        self._cache = cache
        self._missing: list[int] = []
        """Numbers of the tasks that the cache does not hold at their current version."""
        self.tasks = cache.get_current(versions)
        if len(self.tasks) < len(versions):
            self._missing = [number for number in versions if number not in self.tasks]
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self.entry_counts: dict[int, int] = {}
        """Number of agenda entries, by task; only for tasks that were not in the cache."""
        self.lane_state = LaneState(connection)

    async def read_tasks(self) -> None:
        """Read the tasks that the cache does not hold."""
        if not self._missing:
            return
        with_live_runs: list[int] = []
        for row in await self._connection.query("tasks", self._missing):
            known = new_tuple(CachedTask, (*decode_versioned_task(row), ()))
            number = known.number
            self.tasks[number] = known
            live_count, self.entry_counts[number] = live_and_entry_counts(row)
            if live_count:
                with_live_runs.append(number)
        if with_live_runs:
            await self._read_runs(with_live_runs)

    async def lock_more(self, numbers: list[int]) -> None:
        """Lock further tasks and load them with their entries, without lanes."""
        if not numbers:
            return
        versions = {number: version for number, version, _ in await self._connection.query("lock_tasks", numbers)}
        current = self._cache.get_current(versions)
        self.tasks.update(current)
        self._missing = [number for number in versions if number not in current]
        await self.read_tasks()
        await self.read_entries(list(versions))

    async def _read_runs(self, numbers: list[int]) -> None:
        for row in await self._connection.query("live_runs", numbers):
            number = run_task(row)
            known = self.tasks[number]
            self.tasks[number] = known._replace(live=(*known.live, decode_run(row, known.task.id)))

    async def read_entries(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in await self._connection.query("entries", list(numbers)):
                number = entry_task(row)
                entry = decode_entry(row, self.tasks[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    async def read_lane_state(self, *, restricted: AbstractSet[str] | None = None, lanes: Iterable[str] = ()) -> None:
        """Read the lanes of all loaded tasks, runs and entries, and the given ones. `restricted` are all owners with a limit
        and all blocked names; None if they are not known."""
        needed = {lane for known in self.tasks.values() for run in known.live for lane in run.lanes}
        needed.update(lanes)
        needed.update(self._lanes_of_entries())
        parked = [number for number, entries in self.entries.items() if any(map(_is_parked_for_lane, entries))]
        tasks = [known.task for known in self.tasks.values()]
        await self.lane_state.read(tasks, needed, restricted=restricted, parked=parked)
        await self._reread_parked_entries(parked)

    async def _reread_parked_entries(self, numbers: list[int]) -> None:
        """Read entries that are parked for a lane again, now that the lanes are locked: the previous lock holder may have
        unparked one for a free slot. Written back as parked, it would wait for ever and the slot would stay empty."""
        for number in numbers:
            del self.entries[number]
        await self.read_entries(numbers)
        for number in numbers:
            for entry in self.entries.get(number, ()):
                if entry.lane is not None and _is_parked_for_lane(entry):
                    self.lane_state.add_parked(entry.lane, number, entry.slot)

    def _lanes_of_entries(self) -> Iterable[str]:
        """Yield the lanes that entries of these tasks wait for, or waited for. Routes are no lanes and have no slots."""
        for entries in self.entries.values():
            for entry in entries:
                if entry.lane is not None and not is_route(entry.lane):
                    yield entry.lane

    def update_cache(self, cache: TaskCache) -> None:
        """Cache the tasks that were read, in a cache of readers; tasks with live runs are not cached."""
        fresh = [self.tasks[number] for number in self._missing if number in self.tasks]
        cache.update({known.number: known for known in fresh if not known.live})


def _is_parked_for_lane(entry: Entry) -> bool:
    return entry.state is EntryState.PARKED and entry.lane is not None and not is_route(entry.lane)


async def load_task_facts(
    connection: Statements, cache: TaskCache, number: int, version: int
) -> tuple[LoadedFacts, CachedTask, Facts]:
    """Load all facts of one task that a decision may use."""
    loaded = LoadedFacts(connection, cache, {number: version})
    await loaded.read_tasks()
    await loaded.read_entries((number,))
    await loaded.read_lane_state()
    known = loaded.tasks[number]
    return loaded, known, loaded.build_facts(known, loaded.entries.get(number, ()))


async def find_task_by_id(connection: Statements, task_id: str) -> tuple[int, str] | None:
    """Return number and owner of a task; None if there is no such task."""
    rows = await connection.query("number_by_id", task_id)
    return next(((number, owner) for number, owner in rows), None)


async def lock_task(connection: Statements, number: int) -> int | None:
    """Lock a task until the transaction ends and return its version; None if the task was deleted."""
    return next((version for _, version, _ in await connection.query("lock_tasks", [number])), None)


class LaneState(LaneCounts):
    """Lanes and blocked owners during one transaction: limits, slots in use, and why an owner is blocked.

    A transaction that may take or free a lane slot locks the row of that lane until it ends, so two nodes never take the
    same slot. A task without a lane, whose owner has no limit, locks nothing.
    """

    def __init__(self, connection: Statements) -> None:
        super().__init__()
        self._connection = connection

    async def read(
        self,
        tasks: Collection[Task],
        lanes: Iterable[str] = (),
        *,
        restricted: AbstractSet[str] | None = None,
        parked: Collection[int] = (),
    ) -> None:
        """Read and lock the lanes of these tasks and the given ones. `restricted`: see `LoadedFacts.read_lane_state`;
        `parked`: numbers of the tasks whose parked entries the caller adds."""
        self._lane_of_owner = dict.fromkeys(map(account_of, {task.owner for task in tasks}))
        named = {(task.lane, task.policies.lanes) for task in tasks if task.lane is not None}
        task_lanes = {lane for first, further in named for lane in (first, *further)}
        needed = task_lanes.union(lanes)
        is_alone = restricted is not None and restricted.isdisjoint((*self._lane_of_owner, *task_lanes))
        if not is_alone and self._lane_of_owner:
            needed |= await self._read_owners(task_lanes)
        if needed:
            self.is_unrestricted = False
            await self.lock_lanes(needed, parked)

    async def _read_owners(self, lanes: set[str]) -> set[str]:
        owners = {owner_lane(owner): owner for owner in self._lane_of_owner}
        owner_lanes: set[str] = set()
        for kind, name, reason in await self._connection.query(
            "limits_and_blocks_of_owners", list(owners), [*self._lane_of_owner, *lanes]
        ):
            if kind == "lane":
                self._lane_of_owner[owners[name]] = name
                owner_lanes.add(name)
            else:
                self._block_reasons[name] = REASONS[reason]
                self.is_unrestricted = False
        return owner_lanes

    async def write_turns(self) -> None:
        """Write the owners that got the last slots."""
        if self.turns:
            await self._connection.write_rows("put_lane_turns", 2, flatten_rows(self.turns.items()))

    async def lock_lanes(self, lanes: Iterable[str], parked: Collection[int] = ()) -> None:
        """Lock these lanes: until the transaction ends, no other one changes their slots or waiting entries.
        `parked`: see `read`."""
        missing = sorted(lane for lane in lanes if lane not in self._limits)
        if not missing:
            return
        rows = await self._connection.query("lock_lanes", missing)
        while len(rows) < len(missing):
            present = {name for name, *_ in rows}
            await self._connection.query("insert_lanes", [name for name in missing if name not in present])
            rows = await self._connection.query("lock_lanes", missing)
        for name, limit, *rate in rows:
            self._limits[name] = DEFAULT_LIMIT if limit is None else limit
            self._set_rate(name, *rate)
        # Count only now: a count from before the locks may be out of date.
        await self._read_counts(missing, parked)
        if self.now is not None:
            for name in self.rates.keys() & missing:
                self.rates[name].left = await read_starts_left(self._connection, name, self.rates[name], self.now)

    async def _read_counts(self, lanes: list[str], parked: Collection[int]) -> None:
        for name, taken, offered, has_waiting, last_owner, has_idle in await self._connection.query(
            "lane_counts", lanes, list(parked)
        ):
            self._taken[name], self._offered[name] = taken, offered
            if has_idle:
                for row in await self._connection.query("get_record", IDLE_RUNS_KIND, name):
                    self.add_idle_record(decode_record(row))
            if has_waiting:
                self._with_waiting.add(name)
            if last_owner is not None:
                self._last_owners[name] = last_owner

    def _set_rate(self, lane: str, starts: int | None, period: int, *state: int | None) -> None:
        if starts is not None:
            started, last_start, wake_at = state
            self.rates[lane] = LaneRate(decode_rate(starts, period), started or 0, last_start, wake_at)
