"""Counter deltas of one write request, summed per owner, hour and name before they are written."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..model.change import Change
from ..model.counts import LATE, NO_HOUR, STATE, SUCCEEDED, added, bucket_of_microseconds
from ..model.task import Standing, TaskState
from .codec.rows import Row

HOUR: Final = 3_600_000_000
ACTIVE: Final = STATE + TaskState.ACTIVE
_COMPLETED: Final = STATE + TaskState.COMPLETED


class Counting:
    """Accumulator of counter deltas; base class of the row batches of every SQL store."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int, str]] = Counter()
        """Delta by owner, hour and counter name."""
        self.succeeded: Counter[tuple[str, int, int]] = Counter()
        """Successful runs by owner, hour and lateness bucket."""
        self.completed: Counter[str] = Counter()
        """Active tasks that became completed, by owner."""

    def count_change(self, owner: str, before: Standing | None, change: Change) -> None:
        """Add the deltas of any change; `before` is the status of the task before it, None for a new task."""
        counts = self.counts
        for hour, name, number in added(before, change):
            counts[owner, hour, name] += number

    def count_new_task(self, owner: str) -> None:
        """Count one new active task."""
        self.counts[owner, NO_HOUR, ACTIVE] += 1

    def count_success(self, owner: str, row: Row, due: int, before: Standing, after: Standing) -> None:
        """Count a run that succeeded, from its row (`plain_end`). Hot path: nearly every count comes from here, so
        the lateness bucket is kept as a number and the counter names are built in `all_counts`."""
        self.succeeded[owner, row[4] // HOUR, bucket_of_microseconds(row[3] - due)] += 1
        if before[0] is not after[0]:
            self.completed[owner] += 1

    def total_deltas(self) -> Counter[tuple[str, int, str]]:
        """Return all deltas under their counter names; can be called more than once."""
        counts = self.counts.copy()
        for (owner, hour, late), number in self.succeeded.items():
            counts[owner, hour, SUCCEEDED] += number
            counts[owner, hour, f"{LATE}{late}"] += number
        for owner, number in self.completed.items():
            counts[owner, NO_HOUR, ACTIVE] -= number
            counts[owner, NO_HOUR, _COMPLETED] += number
        return counts

    def delta_rows(self) -> list[Row]:
        """Return all non-zero deltas as rows (owner, hour, name, number)."""
        return [(*key, number) for key, number in self.total_deltas().items() if number]
