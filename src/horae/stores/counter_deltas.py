"""What the changes of one request add to the running counts, summed up before it is written."""

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
    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int, str]] = Counter()
        """What is added to the running counts: owner, hour, name."""
        self.succeeded: Counter[tuple[str, int, int]] = Counter()
        """Owner, hour, bucket of lateness."""
        self.completed: Counter[str] = Counter()
        """Tasks of an owner that were active."""

    def count(self, owner: str, before: Standing | None, change: Change) -> None:
        counts = self.counts
        for hour, name, number in added(before, change):
            counts[owner, hour, name] += number

    def count_new(self, owner: str) -> None:
        """A task that is simply there now."""
        self.counts[owner, NO_HOUR, ACTIVE] += 1

    def count_success(self, owner: str, row: Row, due: int, before: Standing, after: Standing) -> None:
        """A run that simply succeeded, whose row (`rows.plain_end`) is at hand. Nearly all that is counted is this, so it
        is only noted here, by numbers, and gets its names when it is written."""
        self.succeeded[owner, row[4] // HOUR, bucket_of_microseconds(row[3] - due)] += 1
        if before[0] is not after[0]:
            self.completed[owner] += 1

    def all_counts(self) -> Counter[tuple[str, int, str]]:
        """However often it is asked for."""
        counts = self.counts.copy()
        for (owner, hour, late), number in self.succeeded.items():
            counts[owner, hour, SUCCEEDED] += number
            counts[owner, hour, f"{LATE}{late}"] += number
        for owner, number in self.completed.items():
            counts[owner, NO_HOUR, ACTIVE] -= number
            counts[owner, NO_HOUR, _COMPLETED] += number
        return counts

    def count_rows(self) -> list[Row]:
        """Owner, hour, name, number."""
        return [(*key, number) for key, number in self.all_counts().items() if number]
