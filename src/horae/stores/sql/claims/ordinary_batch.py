"""Ordinary decisions of one transaction: where all are starts, or all successes, one statement may write them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ....model.change import Change, OrdinaryStart, OrdinarySuccess, Start, Success
from ....model.counts import bucket_of_microseconds
from ....model.ids import to_microseconds
from ....model.run import Run
from ....model.task import TaskState
from ...codec.columns import claim_of_run
from ...codec.json_codecs import microseconds_of
from ...codec.rows import is_named_by_instant, new_tuple
from ...counter_deltas import HOUR_MICROSECONDS, CounterDeltas
from ...task_cache import CachedTask


class OrdinaryBatch:
    """Collects decisions of one kind, with the tasks that they were decided on: starts or successes, as the first one was."""

    def __init__(self) -> None:
        self.starts: list[tuple[CachedTask, Start]] = []
        self.ends: list[tuple[CachedTask, Run, Success]] = []

    def __len__(self) -> int:
        return len(self.starts) or len(self.ends)

    @property
    def are_starts(self) -> bool:
        return bool(self.starts)

    @property
    def emptied_tasks(self) -> list[int]:
        """Numbers of the tasks whose agenda is empty afterwards."""
        return [known.number for known, (_, _, following) in self.starts if following is None]

    @property
    def event_count(self) -> int:
        return len(self.starts) + sum([2 if is_completing(success) else 1 for _, _, success in self.ends])

    def add_start(self, known: CachedTask, start: Start) -> bool:
        """Add a start; return False, without adding it, if the batch holds successes."""
        if self.ends:
            return False
        self.starts.append((known, start))
        return True

    def add_starts(self, starts: list[tuple[CachedTask, Start]]) -> bool:
        """Add many starts, as `add_start` adds one."""
        if self.ends:
            return False
        self.starts += starts
        return True

    def add_success(self, known: CachedTask, run: Run, success: Success) -> bool:
        """Add a success; return False, without adding it, if the batch holds starts."""
        if self.starts:
            return False
        self.ends.append((known, run, success))
        return True

    def add(self, known: CachedTask, change: Change) -> CachedTask | None:
        """Add a change and return the task after it; return None, without adding it, if it is of another kind."""
        if (start := start_of(change)) is not None:
            return task_after_start(known, start) if self.add_start(known, start) else None
        if (success := success_of(change)) is not None:
            (run,) = change.updated_runs
            return task_after_success(known, success) if self.add_success(known, run, success) else None
        return None


def start_of(change: Change) -> Start | None:
    """Return what an `OrdinaryStart` says; None for any other change, and for a run whose id does not encode its planned
    instant: such a run is indexed separately in the ledger."""
    if change.__class__ is not OrdinaryStart or change.status is None:
        return None
    (run,), put = change.new_runs, change.put
    return new_tuple(Start, (run, change.status, put[0] if put else None)) if is_named_by_instant(run) else None


def success_of(change: Change) -> Success | None:
    """Return what an `OrdinarySuccess` says; None as for `start_of`."""
    if change.__class__ is not OrdinarySuccess or change.status is None:
        return None
    (run,) = change.updated_runs
    if run.ended is None or not is_named_by_instant(run):
        return None
    return Success(run.started, run.ended, run.result_json, change.status)


def is_completing(success: Success) -> bool:
    return success.status.state is TaskState.COMPLETED


def common_run_values(runs: Sequence[Run]) -> list[Any] | None:
    """Return what the runs of a claim have in common: origin, attempt, state, token, node, and the instants of claim and
    start; None if they differ there."""
    common = claim_of_run(runs[0])
    for run in runs:
        if claim_of_run(run) != common:
            return None
    *others, claimed, started = common
    return [*others, *(None if at is None else microseconds_of[at] for at in (claimed, started))]


def count_successes(batch: OrdinaryBatch) -> CounterDeltas:
    """Return what the successes add to the counters. Runs of an owner that are equally late are counted together, if all
    runs of the batch end in one hour."""
    deltas = CounterDeltas()
    ended = [success.ended for _, _, success in batch.ends]
    hour = _hour_of(min(ended))
    if hour != _hour_of(max(ended)):
        for _, run, success in batch.ends:
            deltas.count_success(run, success)
        return deltas
    starts = [(run.owner, success.started, run.due) for _, run, success in batch.ends]
    for (owner, started, due), number in Counter(starts).items():
        late = 0 if started is None else to_microseconds(started) - to_microseconds(due)
        deltas.succeeded[owner, hour, bucket_of_microseconds(late)] += number
    for owner, number in Counter([run.owner for _, run, success in batch.ends if is_completing(success)]).items():
        deltas.completed[owner] += number
    return deltas


def _hour_of(at: datetime) -> int:
    return to_microseconds(at) // HOUR_MICROSECONDS


def task_after_start(known: CachedTask, start: Start) -> CachedTask:
    number, version, task, _, _ = known
    return new_tuple(CachedTask, (number, version + 1, task, start.status, (start.run,)))


def task_after_success(known: CachedTask, success: Success) -> CachedTask:
    number, version, task, _, _ = known
    return new_tuple(CachedTask, (number, version + 1, task, success.status, ()))
