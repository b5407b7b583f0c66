"""What is counted while a forecast runs: each decision is seen once, as it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.lane import DEFAULT_LIMIT
from ..model.policy import Overlap as PolicyOverlap
from ..model.reason import Reason
from ..model.run import Run, RunState
from .recording_store import number_of
from .report import Became, Began, Overlap

NONE: Final = timedelta(0)
_EXAMPLES: Final = 20
_MOMENT: Final = timedelta(microseconds=1)
_ENDED_BADLY: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED, RunState.LOST})
_OVERLAPPED: Final[dict[PolicyOverlap, Became]] = {
    "skip": "skipped",
    "queue": "queued",
    "queue_all": "queued",
    "replace": "replaced",
    "parallel": "parallel",
}


class TaskTally:
    def __init__(self) -> None:
        self.ran = 0
        self.skipped: Counter[Reason] = Counter()
        self.cut_short = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.lateness: list[timedelta] = []
        self.lane_wait = NONE
        self.room_wait = NONE
        self.overlaps = 0
        self.examples: list[Overlap] = []

    def began(self, planned: datetime, late: timedelta) -> None:
        self.ran += 1
        if self.first is None:
            self.first = planned
        self.last = planned
        self.lateness.append(late)

    def met_itself(self, facts: Facts, entry: Entry, change: Change) -> None:
        """It came due while an earlier run was going. A queue has one place: who comes later is skipped all the same."""
        self.overlaps += 1
        if len(self.examples) < _EXAMPLES:
            turned_away = any(run.reason is Reason.OVERLAP for run in change.new_runs)
            became = "skipped" if turned_away else _OVERLAPPED[facts.task.policies.overlap]
            self.examples.append(Overlap(entry.planned, facts.live[0].planned, became))


class LaneTally:
    """Its seats, and who stands in line for them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.runs = 0
        self.taken = 0
        self.in_line = 0
        self.peak = 0
        self.longest = NONE
        self.full = NONE
        self._full_since: datetime | None = None

    def enter(self, now: datetime) -> None:
        self.runs += 1
        self.taken += 1
        self.peak = max(self.peak, self.taken + self.in_line)
        if self.taken >= self.limit and self._full_since is None:
            self._full_since = now

    def leave(self, now: datetime) -> None:
        self.taken -= 1
        if self._full_since is not None and self.taken < self.limit:
            self.full += now - self._full_since
            self._full_since = None

    def line_up(self) -> None:
        self.in_line += 1
        self.peak = max(self.peak, self.taken + self.in_line)

    def full_until(self, end: datetime) -> timedelta:
        return self.full + (NONE if self._full_since is None else end - self._full_since)


class Tally:
    """A `Witness`. `enough` is called once, when so many rows were written that it is time to stop."""

    def __init__(self, count: int, lanes: Mapping[str, int], most: int, enough: Callable[[], None]) -> None:
        self.tasks = tuple(TaskTally() for _ in range(count))
        self.lanes = {name: LaneTally(limit) for name, limit in lanes.items()}
        self.begun: list[Began] = []
        self.started: list[datetime] = []
        """Further attempts too: they take a place like any other run."""
        self.ended: list[datetime] = []
        self.due: list[tuple[datetime, int]] = []
        self.skips: list[tuple[datetime, int]] = []
        self.rows = 0
        self._parked: dict[tuple[str, str], tuple[datetime, LaneTally]] = {}
        self._most = most
        self._enough = enough

    def claimed(self, facts: Facts, entry: Entry, change: Change, now: datetime) -> None:
        number = number_of(facts.task.target)
        task, slot = self.tasks[number], (entry.task_id, entry.slot)
        parked = self._leave_line(slot)
        if parked is None and not entry.waited and entry.kind is EntryKind.NEXT:
            self.due.append((entry.due, number))
            if facts.live:
                task.met_itself(facts, entry, change)
        for run in change.new_runs:
            if run.live:
                self._began(number, entry, run, now, parked)
            else:
                self._skipped(task, run, now)
        for put in change.put:
            if put.state is EntryState.PARKED and put.lane is not None:
                self._line_up(slot, put.lane, now if parked is None else parked)
        self._count_rows(len(change.new_runs))

    def settled(self, facts: Facts, change: Change, now: datetime) -> None:
        task = self.tasks[number_of(facts.task.target)]
        for run in change.updated_runs:
            if not run.live:
                self._over(now if run.started is None else run.started, now)
                task.cut_short += run.state in _ENDED_BADLY
                for lane in run.lanes:
                    self._lane(lane).leave(now)
        for run in change.new_runs:
            self._skipped(task, run, now)
        for slot in change.dropped:
            self._leave_line((facts.task.id, slot))
        self._count_rows(len(change.new_runs))

    def expect(self, alone: int) -> None:
        """So many rows will be those of runs that the engine does not carry."""
        self._most = max(1, self._most - alone)

    def alone(self, number: int, at: datetime, planned: datetime, end: datetime | None) -> None:
        """A run that nothing could stand in the way of, and its end if that is within the span."""
        self.tasks[number].began(planned, NONE)
        self.due.append((at, number))
        self.begun.append(Began(at, planned, number))
        self.started.append(at)
        if end is not None:
            self._over(at, end)
        self.rows += 1

    # --- one run, one skip, one place in line ------------------------------------------------------------------------

    def _began(self, number: int, entry: Entry, run: Run, now: datetime, parked: datetime | None) -> None:
        self.started.append(now)
        for lane in run.lanes:
            self._lane(lane).enter(now)
        if run.attempt > 1:
            return
        task, late = self.tasks[number], now - run.due
        task.began(run.planned, late)
        if run.span is not None:
            task.skipped[Reason.MERGED] += run.span.count - 1
        if parked is not None:
            task.lane_wait = max(task.lane_wait, now - parked)
            for lane in run.lanes:
                self._lane(lane).longest = max(self._lane(lane).longest, now - parked)
        elif not entry.waited and entry.kind is EntryKind.NEXT:
            # Nothing of its own stood in its way, so it was the engine that had no room.
            task.room_wait = max(task.room_wait, late)
        self.begun.append(Began(now, run.planned, number))

    def _over(self, started: datetime, ended: datetime) -> None:
        """What takes no time at all still was there for a moment."""
        self.ended.append(max(ended, started + _MOMENT))

    def _skipped(self, task: TaskTally, run: Run, now: datetime) -> None:
        """A further attempt that is given up is no other occurrence."""
        if run.attempt == 1 and run.reason is not None:
            count = 1 if run.span is None else run.span.count
            task.skipped[run.reason] += count
            self.skips.append((now, count))

    def _line_up(self, slot: tuple[str, str], lane: str, since: datetime) -> None:
        line = self._lane(lane)
        line.line_up()
        self._parked[slot] = since, line

    def _leave_line(self, slot: tuple[str, str]) -> datetime | None:
        """Since when it stood in line, if it did."""
        found = self._parked.pop(slot, None) if self._parked else None
        if found is None:
            return None
        found[1].in_line -= 1
        return found[0]

    def longest_in_line(self, lane: LaneTally, until: datetime) -> timedelta:
        """What still stands there has waited too."""
        return max((until - since for since, line in self._parked.values() if line is lane), default=NONE)

    def _lane(self, name: str) -> LaneTally:
        """One for which nobody set a limit holds one run at a time."""
        found = self.lanes.get(name)
        if found is None:
            found = self.lanes[name] = LaneTally(DEFAULT_LIMIT)
        return found

    def _count_rows(self, more: int) -> None:
        before, self.rows = self.rows, self.rows + more
        if before < self._most <= self.rows:
            self._enough()
