"""Facts of the tasks that one transaction decides on, kept current in memory: tasks, agenda entries and lane use."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Generic, TypeVar

from ..model.accounts.system_owner import account_of
from ..model.change import Change, Facts
from ..model.entry import Entry
from ..model.lanes.idle import IdleRun, YieldReason, idle_runs_of, record_writes
from ..model.lanes.lane import LaneUse, block_reason
from ..model.lanes.rate import Rate
from ..model.reason import Reason
from ..model.record import Record, RecordWrite
from ..model.run import Run
from ..model.task import Task
from .codec.rows import new_tuple
from .task_cache import CachedTask

_NO_EXISTING_RUNS: Final[frozenset[str]] = frozenset()


class LaneRate:
    """Rate of a locked lane, and its starts, in the course of one transaction. Instants are microseconds."""

    def __init__(self, rate: Rate, started: int, last_start: int | None, wake_at: int | None) -> None:
        self.rate = rate
        self.started = started
        """Number of all starts that were ever kept."""
        self.last_start = last_start
        self.wake_at = wake_at
        """Instant at which entries that wait in the lane are to be unparked; None: no such instant is known, or needed."""
        self.left: int | None = None
        """Starts that are allowed at the instant of this claim; None outside of claims."""
        self.new_starts = 0
        self.has_newcomers = False
        """Whether an entry was parked in the lane by this transaction."""

    @property
    def is_touched(self) -> bool:
        return bool(self.new_starts) or self.has_newcomers


class LaneCounts:
    """Limits and taken slots of lanes, the lanes of owners with a limit, and the reasons of blocked owners."""

    def __init__(self) -> None:
        self._lane_of_owner: dict[str, str | None] = {}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._offered: dict[str, int] = {}
        self._with_waiting: set[str] = set()
        """Lanes with parked entries; those that `add_parked` was called with may be left out."""
        self._parked_entries: dict[str, set[tuple[int, str]]] = {}
        """Parked entries of the tasks that are decided, by lane: any of these decisions may remove them."""
        self._last_owners: dict[str, str] = {}
        self.rates: dict[str, LaneRate] = {}
        """Lanes that have a rate."""
        self.now: datetime | None = None
        """Instant of the claim; None outside of claims."""
        self.turns: dict[str, str] = {}
        """Lanes whose last owner has changed."""
        self._block_reasons: dict[str, Reason | None] = {}
        self._idle_records: dict[str, Record] = {}
        self._idle_runs: dict[str, dict[str, IdleRun]] = {}
        """Idle runs by lane and run id; only for lanes that have some."""
        self.is_unrestricted = True
        """None of the tasks has a lane, and none of their owners is limited or blocked."""

    def lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        """Return the use of the lanes that a run of the task takes: its own lanes, then that of its owner."""
        lanes, owners_lane = task.lanes, self._lane_of_owner.get(account_of(task.owner))
        if owners_lane is not None and owners_lane not in lanes:
            lanes = (*lanes, owners_lane)
        return tuple(map(self._use, lanes))

    def block_reason(self, task: Task) -> Reason | None:
        return block_reason(task.owner, task.lane, self._block_reasons.get) if self._block_reasons else None

    def is_owner_unrestricted(self, owner: str) -> bool:
        """Whether the owner of a task, or the account of a system task, has no limit and is not blocked."""
        if self.is_unrestricted:
            return True
        is_blocked = bool(self._block_reasons) and block_reason(owner, None, self._block_reasons.get) is not None
        return self._lane_of_owner.get(account_of(owner)) is None and not is_blocked

    def _use(self, lane: str) -> LaneUse:
        limit, taken, offered = self._limits[lane], self._taken[lane], self._offered.get(lane, 0)
        idle = tuple(self._idle_runs[lane].values()) if lane in self._idle_runs else ()
        found = self.rates.get(lane)
        rate, left = (None, None) if found is None else (found.rate, found.left)
        return new_tuple(LaneUse, (lane, limit, taken, offered, self.has_waiting(lane), idle, rate, left, None))

    def add_idle_record(self, record: Record) -> None:
        """Add the record of the idle runs of a lane that was read."""
        self._idle_records[record.key] = record
        self._idle_runs[record.key] = {run.run_id: run for run in idle_runs_of(record)}

    def put_idle_runs(self, idle_runs: Iterable[IdleRun]) -> None:
        """Record runs of lanes that were read as idle, or as asked to yield."""
        for run in idle_runs:
            self._idle_runs.setdefault(run.lane, {})[run.run_id] = run

    def is_idle(self, run: Run) -> bool:
        return any(run.id in self._idle_runs.get(lane, {}) for lane in run.lanes)

    def yield_reason(self, run: Run) -> YieldReason | None:
        """Return why an idle run is asked to yield."""
        found = [self._idle_runs[lane][run.id] for lane in run.lanes if run.id in self._idle_runs.get(lane, {})]
        return next((each.yield_reason for each in found if each.yield_kind is not None), None)

    def drop_idle_run(self, lanes: Iterable[str], run_id: str) -> None:
        for lane in lanes:
            if lane in self._idle_runs:
                self._idle_runs[lane].pop(run_id, None)

    def idle_record_writes(self) -> list[RecordWrite]:
        """Return the writes of all changes of idle runs. The lanes are locked."""
        writes: list[RecordWrite] = []
        for lane, after in self._idle_runs.items():
            record = self._idle_records.get(lane)
            before = {run.run_id: run for run in idle_runs_of(record)}
            if after != before:
                writes += record_writes(lane, None if record is None else record.version, before, after)
        return writes

    def count_unparked(self, lane: str, number: int) -> None:
        """Add to the number of unparked entries of a lane that was read; negative: they were claimed, or are gone."""
        if lane in self._offered:
            self._offered[lane] += number

    def add_parked(self, lane: str, number: int, slot: str) -> None:
        """Add an entry that is parked in a lane, by the number of its task."""
        self._parked_entries.setdefault(lane, set()).add((number, slot))

    def remove_parked(self, lane: str, number: int, slot: str) -> None:
        self._parked_entries.get(lane, set()).discard((number, slot))

    def add_newcomer(self, lane: str, number: int, slot: str) -> None:
        """Add an entry that a decision parks."""
        self.add_parked(lane, number, slot)
        if lane in self.rates:
            self.rates[lane].has_newcomers = True

    def add_started(self, lanes: Iterable[str]) -> None:
        """Count a start in each of these lanes that has a rate."""
        for lane in lanes if self.rates else ():
            if lane in self.rates:
                found = self.rates[lane]
                found.new_starts += 1
                found.left = None if found.left is None else max(0, found.left - 1)

    def offered(self, lane: str) -> int:
        return self._offered.get(lane, 0)

    def has_waiting(self, lane: str) -> bool:
        return lane in self._with_waiting or bool(self._parked_entries.get(lane))

    def last_owner(self, lane: str) -> str:
        """Return the owner that got the last slot of a lane; an empty text: none yet."""
        return self._last_owners.get(lane, "")

    def take_turn(self, lane: str, owner: str) -> None:
        """Record the owner that gets a slot of a lane."""
        if lane in self._limits and self.last_owner(lane) != owner:
            self._last_owners[lane] = self.turns[lane] = owner

    def add_taken(self, lanes: Iterable[str], slots: int) -> None:
        """Add `slots` (may be negative) to the number of taken slots of each lane that was read."""
        for lane in lanes:
            if lane in self._taken:
                self._taken[lane] += slots

    def free_slots(self, lane: str) -> int:
        """Return the number of slots that are neither taken nor kept for an unparked entry."""
        return max(0, self._limits[lane] - self._taken[lane] - self._offered.get(lane, 0))


_L = TypeVar("_L", bound=LaneCounts)


class TaskFacts(Generic[_L]):
    """Tasks and entries by task number; a decision sees the result of those before it."""

    tasks: dict[int, CachedTask]
    entries: dict[int, tuple[Entry, ...]]
    lane_state: _L

    def build_facts(self, cached: CachedTask, entries: tuple[Entry, ...]) -> Facts:
        _, _, task, status, live = cached
        lane_state = self.lane_state
        if lane_state.is_unrestricted and task.lane is None:
            return new_tuple(Facts, (task, status, entries, live, (), None, _NO_EXISTING_RUNS))
        return Facts(task, status, entries, live, lane_state.lane_uses(task), lane_state.block_reason(task))

    def update_entries(self, number: int, change: Change, entries: tuple[Entry, ...]) -> None:
        """Apply the change to the loaded entries of a task, for the next decision on it."""
        slots = {entry.slot: entry for entry in entries if entry.slot not in change.dropped}
        slots.update((entry.slot, entry) for entry in change.put)
        self.entries[number] = tuple([slots[slot] for slot in sorted(slots)])
