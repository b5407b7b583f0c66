"""Counter deltas of one write request, summed per owner, hour and name before they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, TypeAlias

from ..model.change import Change, Success
from ..model.counts import (
    LATENESS_PREFIX,
    NO_HOUR,
    STATE_PREFIX,
    SUCCEEDED_COUNTER,
    bucket_of_microseconds,
    counter_deltas,
)
from ..model.ids import to_microseconds
from ..model.run import Run
from ..model.task import TaskState, TaskStatus
from .codec.json_codecs import microseconds_of
from .codec.rows import Row

HOUR_MICROSECONDS: Final = 3_600_000_000
ACTIVE_TASKS: Final = STATE_PREFIX + TaskState.ACTIVE
_COMPLETED: Final = STATE_PREFIX + TaskState.COMPLETED


Deltas: TypeAlias = Mapping[tuple[str, int, str], int]
"""Delta by owner, hour and counter name."""


class CounterDeltas:
    """Accumulator of counter deltas; base class of the row batches of every SQL store."""

    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, int, str], int] = defaultdict(int)
        self.succeeded: defaultdict[tuple[str, int, int], int] = defaultdict(int)
        """Successful runs by owner, hour and lateness bucket."""
        self.completed: defaultdict[str, int] = defaultdict(int)
        """Active tasks that became completed, by owner."""

    def count_change(self, owner: str, before: TaskStatus | None, change: Change) -> None:
        """Add the deltas of any change; `before` is the status of the task before it, None for a new task."""
        counts = self.counts
        for hour, name, number in counter_deltas(before, change):
            counts[owner, hour, name] += number

    def count_new_task(self, owner: str) -> None:
        """Count one new active task."""
        self.counts[owner, NO_HOUR, ACTIVE_TASKS] += 1

    def count_success(self, run: Run, success: Success) -> None:
        """Count the run of an `OrdinarySuccess`. Hot path: nearly every count comes from here, so the lateness bucket is
        kept as a number and the counter names are built in `total_deltas`."""
        started, ended, _, status = success
        late = microseconds_of[started or run.due] - microseconds_of[run.due]
        self.succeeded[run.owner, to_microseconds(ended) // HOUR_MICROSECONDS, bucket_of_microseconds(late)] += 1
        if status.state is TaskState.COMPLETED:
            self.completed[run.owner] += 1

    def total_deltas(self) -> Deltas:
        """Return all deltas under their counter names; can be called more than once."""
        counts = self.counts.copy()
        for (owner, hour, late), number in self.succeeded.items():
            counts[owner, hour, SUCCEEDED_COUNTER] += number
            counts[owner, hour, f"{LATENESS_PREFIX}{late}"] += number
        for owner, number in self.completed.items():
            counts[owner, NO_HOUR, ACTIVE_TASKS] -= number
            counts[owner, NO_HOUR, _COMPLETED] += number
        return counts

    def delta_rows(self) -> list[Row]:
        """Return all non-zero deltas as rows (owner, hour, name, number)."""
        return [(*key, number) for key, number in self.total_deltas().items() if number]
