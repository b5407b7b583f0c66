"""Retention of the in-memory store: deletes expired runs, tasks and events in small batches.

Live runs, queued entries and tasks with anything left to do are never deleted.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

from ...lifecycle.chain_graph import links_of
from ...model.events.event import REMOVED_EVENTS
from ...model.record import Record
from ...model.run import Run
from ...model.task import TaskState
from ...ports.store import TrimResult
from .data import Data

_ENDED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class Retention:
    """One batch: deletes at most `limit` rows and inspects at most `limit` tasks."""

    def __init__(self, data: Data, before: datetime, keep_runs: int, limit: int) -> None:
        self._data = data
        self._before = before
        self._keep_runs = keep_runs
        self._limit = self._remaining = max(1, limit)

    def trim_batch(self, after: str | None) -> TrimResult:
        """Trim from the task after the cursor `after`; the result has the cursor of the next batch."""
        runs = tasks = 0
        cursor = after
        ids = list(islice(self._data.tasks.order.ascending(after), self._limit + 1))
        for task_id in ids[: self._limit]:
            self._delete_chain_rows(task_id)
            surplus = self._find_surplus_runs(task_id)
            runs += self._delete_runs(surplus[: self._remaining])
            is_deletable = self._is_deletable(task_id)
            if len(surplus) > self._remaining or (is_deletable and self._remaining == len(surplus)):
                return TrimResult(runs, tasks, 0, more=True, after=cursor)
            self._remaining -= len(surplus)
            if is_deletable:
                tasks += self._delete_task(task_id)
            cursor = task_id
        if len(ids) > self._limit:
            return TrimResult(runs, tasks, 0, more=True, after=cursor)
        events = self._delete_events()
        more = events == self._remaining
        return TrimResult(runs, tasks, events, more, cursor if more else None)

    def _is_deletable(self, task_id: str) -> bool:
        status = self._data.statuses[task_id]
        ended = status.state in _ENDED_STATES and status.ended is not None and status.ended < self._before
        is_idle = not len(self._data.runs.history(task_id)) and not self._data.entries.of_task(task_id)
        task = self._data.tasks[task_id]
        is_linked = task.successors or (status.state is TaskState.FAILED and links_of(task))
        return ended and is_idle and not is_linked

    def _find_surplus_runs(self, task_id: str) -> list[Run]:
        """Return ended runs that are expired or exceed the number kept, oldest first."""
        runs = self._data.runs
        ended = [run for *_, run_id in runs.history(task_id).descending() if not (run := runs[run_id]).live]
        surplus = [run for index, run in enumerate(ended) if index >= self._keep_runs or self._is_expired(run)]
        return surplus[::-1]

    def _is_expired(self, run: Run) -> bool:
        return run.planned < self._before and run.ended is not None and run.ended < self._before

    def _delete_runs(self, runs: list[Run]) -> int:
        for run in runs:
            self._data.delete_run(run.id)
        return len(runs)

    def _delete_chain_rows(self, task_id: str) -> None:
        for row in self._data.chain_rows.of_task(task_id):
            if row.updated < self._before:
                self._data.chain_rows.delete(row)

    def _delete_events(self) -> int:
        removed = self._data.events.delete_oldest(self._before, self._remaining)
        for owner, number in removed.items():
            record_before = self._data.records.get((REMOVED_EVENTS, owner))
            version, before = (0, 0) if record_before is None else (record_before.version, int(record_before.body))
            record = Record(REMOVED_EVENTS, owner, owner, str(before + number), version + 1)
            self._data.records.write((REMOVED_EVENTS, owner), record)
        return removed.total()

    def _delete_task(self, task_id: str) -> int:
        self._data.delete_task(task_id)
        self._remaining -= 1
        return 1
