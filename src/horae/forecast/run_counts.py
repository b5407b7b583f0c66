"""Counters of a forecast per task and lane, updated with each claim and settle decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.lanes.lane import DEFAULT_LIMIT, LaneUse, is_lane_template
from ..model.lanes.rate import Rate
from ..model.policy import Overlap as PolicyOverlap
from ..model.reason import Reason
from ..model.run import Run, RunState
from ..model.task import Task
from .recording_store import task_number
from .report import Became, Began, Overlap

NONE: Final = timedelta(0)
_EXAMPLES: Final = 20
_MOMENT: Final = timedelta(microseconds=1)
_FIRST_KINDS: Final = frozenset({EntryKind.NEXT, EntryKind.CHAIN})
"""Kinds of entries with which an occurrence comes due, as opposed to one that waits or is tried again."""
_UNSUCCESSFUL: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED, RunState.LOST})
_OVERLAPPED: Final[dict[PolicyOverlap, Became]] = {
    "skip": "skipped",
    "queue": "queued",
    "queue_all": "queued",
    "replace": "replaced",
    "parallel": "parallel",
}


class TaskCounts:
    def __init__(self) -> None:
        self.ran = 0
        self.skipped: Counter[Reason] = Counter()
        self.cut_short = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.lateness: list[timedelta] = []
        self.lane_wait = NONE
        self.capacity_wait = NONE
        self.overlaps = 0
        self.examples: list[Overlap] = []

    def record_start(self, planned: datetime, late: timedelta) -> None:
        self.ran += 1
        if self.first is None:
            self.first = planned
        self.last = planned
        self.lateness.append(late)

    def record_overlap(self, facts: Facts, entry: Entry, change: Change) -> None:
        """Count an occurrence that came due while an earlier run was live. A queue holds one; further ones are skipped."""
        self.overlaps += 1
        if len(self.examples) < _EXAMPLES:
            is_skipped = any(run.reason is Reason.OVERLAP for run in change.new_runs)
            became = "skipped" if is_skipped else _OVERLAPPED[facts.task.policies.overlap]
            self.examples.append(Overlap(entry.planned, facts.live[0].planned, became))


class LaneCounts:
    """Used slots and parked entries of a lane."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.rate: Rate | None = None
        self.runs = 0
        self.used = 0
        self.parked = 0
        self.peak = 0
        self.longest = NONE
        self.full = NONE
        self._full_since: datetime | None = None

    def enter(self, now: datetime) -> None:
        self.runs += 1
        self.used += 1
        self.peak = max(self.peak, self.used + self.parked)
        if self.used >= self.limit and self._full_since is None:
            self._full_since = now

    def leave(self, now: datetime) -> None:
        self.used -= 1
        if self._full_since is not None and self.used < self.limit:
            self.full += now - self._full_since
            self._full_since = None

    def park(self) -> None:
        self.parked += 1
        self.peak = max(self.peak, self.used + self.parked)

    def full_until(self, end: datetime) -> timedelta:
        return self.full + (NONE if self._full_since is None else end - self._full_since)


class RunCounts:
    """A `RunRecorder`. Calls `stop` once, at the limit of rows."""

    def __init__(self, count: int, lanes: Mapping[str, int], most: int, stop: Callable[[], None]) -> None:
        self.tasks = tuple(TaskCounts() for _ in range(count))
        self.lanes = {name: LaneCounts(limit) for name, limit in lanes.items() if not is_lane_template(name)}
        self.begun: list[Began] = []
        self.started: list[datetime] = []
        """Includes retries: they take capacity like any other run."""
        self.ended: list[datetime] = []
        self.due: list[tuple[datetime, int]] = []
        self.skips: list[tuple[datetime, int]] = []
        self.rows = 0
        self._parked: dict[tuple[str, str], tuple[datetime, LaneCounts]] = {}
        self._most = most
        self._stop = stop

    def record_claim(self, facts: Facts, entry: Entry, change: Change, now: datetime) -> None:
        number = task_number(facts.task.target)
        task, slot = self.tasks[number], (entry.task_id, entry.slot)
        parked = self._unpark(slot)
        if parked is None and not entry.waited and entry.kind in _FIRST_KINDS:
            self.due.append((entry.due, number))
            if facts.live:
                task.record_overlap(facts, entry, change)
        for run in change.new_runs:
            if run.live:
                self._record_start(number, entry, run, now, parked)
            else:
                self._record_skip(task, run, now)
        for put in change.put:
            if put.state is EntryState.PARKED and put.lane is not None:
                self._park(slot, put.lane, now if parked is None else parked)
        self._count_rows(len(change.new_runs))

    def record_settlement(self, facts: Facts, change: Change, now: datetime) -> None:
        task = self.tasks[task_number(facts.task.target)]
        for run in change.updated_runs:
            if not run.live:
                self._record_end(now if run.started is None else run.started, now)
                task.cut_short += run.state in _UNSUCCESSFUL
                for lane in run.lanes:
                    self._lane(lane).leave(now)
        for run in change.new_runs:
            self._record_skip(task, run, now)
        for slot in change.dropped:
            self._unpark((facts.task.id, slot))
        self._count_rows(len(change.new_runs))

    def record_link(self, task: Task, change: Change) -> None:
        """Count occurrences of a task that runs after others which the end of a run skipped."""
        for run in change.new_runs:
            self._record_skip(self.tasks[task_number(task.target)], run, run.due)
        self._count_rows(len(change.new_runs))

    def add_lane(self, use: LaneUse) -> None:
        """Count the use of a lane with the limit and the rate that it has in the store; no run is in a template."""
        if is_lane_template(use.name):
            return
        self.lanes.setdefault(use.name, LaneCounts(use.limit)).rate = use.rate

    def reserve_rows(self, undisturbed: int) -> None:
        """Reserve rows for runs that the engine does not execute."""
        self._most = max(1, self._most - undisturbed)

    def record_undisturbed(self, number: int, at: datetime, planned: datetime, end: datetime | None) -> None:
        """Count a run of an undisturbed task, and its end if that is within the span."""
        self.tasks[number].record_start(planned, NONE)
        self.due.append((at, number))
        self.begun.append(Began(at, planned, number))
        self.started.append(at)
        if end is not None:
            self._record_end(at, end)
        self.rows += 1

    # --- starts, ends, skips, parking --------------------------------------------------------------------------------

    def _record_start(self, number: int, entry: Entry, run: Run, now: datetime, parked: datetime | None) -> None:
        self.started.append(now)
        for lane in run.lanes:
            self._lane(lane).enter(now)
        if run.attempt > 1:
            return
        task, late = self.tasks[number], now - run.due
        task.record_start(run.planned, late)
        if run.span is not None:
            task.skipped[Reason.MERGED] += run.span.count - 1
        if parked is not None:
            task.lane_wait = max(task.lane_wait, now - parked)
            for lane in run.lanes:
                self._lane(lane).longest = max(self._lane(lane).longest, now - parked)
        elif not entry.waited and entry.kind in _FIRST_KINDS:
            # Not delayed by overlap or lane, so the engine had no capacity.
            task.capacity_wait = max(task.capacity_wait, late)
        self.begun.append(Began(now, run.planned, number))

    def _record_end(self, started: datetime, ended: datetime) -> None:
        """A run without duration counts as one microsecond."""
        self.ended.append(max(ended, started + _MOMENT))

    def _record_skip(self, task: TaskCounts, run: Run, now: datetime) -> None:
        """A skipped retry is no further occurrence."""
        if run.attempt == 1 and run.reason is not None:
            count = 1 if run.span is None else run.span.count
            task.skipped[run.reason] += count
            self.skips.append((now, count))

    def _park(self, slot: tuple[str, str], lane: str, since: datetime) -> None:
        line = self._lane(lane)
        line.park()
        self._parked[slot] = since, line

    def _unpark(self, slot: tuple[str, str]) -> datetime | None:
        """Remove the entry from the parked ones; return since when it was parked, or None."""
        found = self._parked.pop(slot, None) if self._parked else None
        if found is None:
            return None
        found[1].parked -= 1
        return found[0]

    def longest_parked(self, lane: LaneCounts, until: datetime) -> timedelta:
        """Longest wait of entries that are still parked."""
        return max((until - since for since, line in self._parked.values() if line is lane), default=NONE)

    def _lane(self, name: str) -> LaneCounts:
        """Counters of a lane; the default limit is one run at a time."""
        found = self.lanes.get(name)
        if found is None:
            found = self.lanes[name] = LaneCounts(DEFAULT_LIMIT)
        return found

    def _count_rows(self, more: int) -> None:
        before, self.rows = self.rows, self.rows + more
        if before < self._most <= self.rows:
            self._stop()
