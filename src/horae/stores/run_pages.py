"""Page of runs, as all SQL stores read it: the cursor, the filter in the units of the columns, and the choice of the scan."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from ..model.ids import to_microseconds
from ..model.page import MAX_PAGE_SIZE, Page
from ..model.run import Run
from ..ports.store import RunFilter

ROWS_PER_TASK: Final = 300
"""Cost of reading all runs of one task, in index rows that are only skipped."""
_LATEST: Final = 2**63 - 1
_HIGHEST_ATTEMPT: Final = 2**31 - 1


class RunPage(NamedTuple):
    """Conditions of one page of runs; rows come newest first, from below (`planned`, `attempt`, `run_id`)."""

    planned: int
    attempt: int
    run_id: str
    size: int
    owner: str | None
    states: list[str] | None
    since: int | None
    until: int | None

    @classmethod
    def of(cls, run_filter: RunFilter, after: str | None, limit: int) -> RunPage:
        planned, attempt, run_id = (_LATEST, _HIGHEST_ATTEMPT, "") if after is None else after.split("/", 2)
        states, since, until = run_filter.states, run_filter.since, run_filter.until
        return cls(
            int(planned),
            int(attempt),
            run_id,
            min(limit, MAX_PAGE_SIZE),
            run_filter.owner if run_filter.task_id is None else None,
            None if states is None else sorted(str(state) for state in states),
            None if since is None else to_microseconds(since),
            None if until is None else to_microseconds(until),
        )

    @property
    def begins_after_period(self) -> bool:
        """Whether rows that are planned after `until` may belong to the page: a span ends at its planned instant."""
        return self.until is not None and self.planned > self.until

    @property
    def within_period(self) -> RunPage:
        """The page from the end of the period on, so that an index is read from there and not from the newest run."""
        if self.until is None or self.planned <= self.until:
            return self
        return self._replace(planned=self.until, attempt=_HIGHEST_ATTEMPT, run_id="")

    @property
    def limit(self) -> int:
        """Number of rows to read: one more than the page holds shows whether another page follows."""
        return self.size + 1

    def page(self, runs: list[Run]) -> Page[Run]:
        """Return the page of the rows that were read, newest first."""
        items = tuple(runs[: self.size])
        return Page(items, encode_run_cursor(items[-1]) if items and len(runs) > self.size else None)


def newest_key(run: Run) -> tuple[int, int, str]:
    return to_microseconds(run.planned), run.attempt, run.id


def encode_run_cursor(run: Run) -> str:
    return "{}/{}/{}".format(*newest_key(run))


def newest_by_task(runs: Iterable[Run], limit: int) -> dict[str, tuple[Run, ...]]:
    """Return the newest runs of each task, newest first."""
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task_id, []).append(run)
    return {task_id: tuple(sorted(found, key=newest_key, reverse=True)[:limit]) for task_id, found in by_task.items()}


def microseconds_since(since: datetime | None) -> int:
    """Return the first planned instant of a query in microseconds; before all of them without a limit."""
    return -_LATEST if since is None else to_microseconds(since)


def is_owner_large(owner_tasks: int, all_tasks: int, row_count: int, rows_per_task: int) -> bool:
    """Whether a scan over all owners finds `row_count` rows of one owner sooner than a read of the owner's own tasks.

    The scan passes `row_count / share` rows, where the share is the owner's part of all tasks; the other way reads all rows
    of the owner's tasks.
    """
    return owner_tasks * owner_tasks * rows_per_task > row_count * all_tasks
