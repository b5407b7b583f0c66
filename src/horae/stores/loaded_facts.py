"""Facts of the tasks that one transaction decides on, kept current in memory: tasks, agenda entries and lane use."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Generic, TypeVar

from ..model.change import Change, Facts
from ..model.entry import Entry
from ..model.lane import LaneUse, blocked_lane_name
from ..model.rate import Rate
from ..model.reason import Reason
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
        self._last_owners: dict[str, str] = {}
        self.rates: dict[str, LaneRate] = {}
        """Lanes that have a rate."""
        self.now: datetime | None = None
        """Instant of the claim; None outside of claims."""
        self.turns: dict[str, str] = {}
        """Lanes whose last owner has changed."""
        self._block_reasons: dict[str, Reason | None] = {}
        self.is_unrestricted = True
        """No task has a lane, and no owner is limited or blocked."""

    def lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        """Return the use of the lanes that a run of the task takes: its own lanes, then that of its owner."""
        lanes, owners_lane = task.lanes, self._lane_of_owner.get(task.owner)
        if owners_lane is not None and owners_lane not in lanes:
            lanes = (*lanes, owners_lane)
        return tuple(map(self._use, lanes))

    def block_reason(self, task: Task) -> Reason | None:
        return self._block_reasons.get(task.owner) or self._block_reasons.get(blocked_lane_name(task.owner, task.lane))

    def _use(self, lane: str) -> LaneUse:
        limit, taken, offered = self._limits[lane], self._taken[lane], self._offered.get(lane, 0)
        found = self.rates.get(lane)
        if found is None:
            return LaneUse(lane, limit, taken, offered, lane in self._with_waiting)
        return LaneUse(lane, limit, taken, offered, lane in self._with_waiting, found.rate, found.left)

    def count_unparked(self, lane: str, number: int) -> None:
        """Add to the number of unparked entries of a lane that was read; negative: they were claimed, or are gone."""
        if lane in self._offered:
            self._offered[lane] += number

    def add_waiting(self, lane: str) -> None:
        self._with_waiting.add(lane)
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
        return lane in self._with_waiting

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
