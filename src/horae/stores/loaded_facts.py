"""Facts of the tasks that one transaction decides on, kept current in memory: tasks, agenda entries and lane use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from ..model.accounts.system_owner import account_of
from ..model.change import Change, Facts
from ..model.entry import Entry
from ..model.lane import LaneUse, block_reason
from ..model.reason import Reason
from ..model.task import Task
from .codec.rows import new_tuple
from .task_cache import CachedTask

_NO_EXISTING_RUNS: Final[frozenset[str]] = frozenset()


class LaneCounts:
    """Limits and taken slots of lanes, the lanes of owners with a limit, and the reasons of blocked owners."""

    def __init__(self) -> None:
        self._lane_of_owner: dict[str, str | None] = {}
        self._limits: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._offered: dict[str, int] = {}
        self._with_waiting: set[str] = set()
        self._last_owners: dict[str, str] = {}
        self.turns: dict[str, str] = {}
        """Lanes whose last owner has changed."""
        self._block_reasons: dict[str, Reason | None] = {}
        self.is_unrestricted = True
        """No task has a lane, and no owner is limited or blocked."""

    def lane_uses(self, task: Task) -> tuple[LaneUse, ...]:
        """Return the use of the lanes that a run of the task takes: its own lanes, then that of its owner."""
        lanes, owners_lane = task.lanes, self._lane_of_owner.get(account_of(task.owner))
        if owners_lane is not None and owners_lane not in lanes:
            lanes = (*lanes, owners_lane)
        return tuple(map(self._use, lanes))

    def block_reason(self, task: Task) -> Reason | None:
        return block_reason(task.owner, task.lane, self._block_reasons.get)

    def _use(self, lane: str) -> LaneUse:
        return LaneUse(
            lane, self._limits[lane], self._taken[lane], self._offered.get(lane, 0), lane in self._with_waiting
        )

    def count_unparked(self, lane: str, number: int) -> None:
        """Add to the number of unparked entries of a lane that was read; negative: they were claimed, or are gone."""
        if lane in self._offered:
            self._offered[lane] += number

    def add_waiting(self, lane: str) -> None:
        self._with_waiting.add(lane)

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
