"""What may be forgotten, in small batches: never anything that is live, queued or still to come."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

from ...model.events.event import REMOVED_EVENTS
from ...model.record import Record
from ...model.run import Run
from ...model.task import TaskState
from ...ports.store import Trimmed
from .data import Data

_OVER: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class Retention:
    """One batch: at most `limit` rows are removed, and no more tasks than that are looked at."""

    def __init__(self, data: Data, before: datetime, keep_runs: int, limit: int) -> None:
        self._data = data
        self._before = before
        self._keep_runs = keep_runs
        self._limit = self._left = max(1, limit)

    def go_on(self, after: str | None) -> Trimmed:
        runs = tasks = 0
        done = after
        ids = list(islice(self._data.tasks.order.upwards(after), self._limit + 1))
        for task_id in ids[: self._limit]:
            old = self._runs_to_forget(task_id)
            runs += self._forget(old[: self._left])
            over = self._is_over(task_id)
            if len(old) > self._left or (over and self._left == len(old)):
                return Trimmed(runs, tasks, 0, more=True, after=done)
            self._left -= len(old)
            if over:
                tasks += self._delete(task_id)
            done = task_id
        if len(ids) > self._limit:
            return Trimmed(runs, tasks, 0, more=True, after=done)
        events = self._forget_events()
        more = events == self._left
        return Trimmed(runs, tasks, events, more, done if more else None)

    def _is_over(self, task_id: str) -> bool:
        standing = self._data.standings[task_id]
        ended = standing.state in _OVER and standing.ended is not None and standing.ended < self._before
        return ended and not len(self._data.runs.history(task_id)) and not self._data.entries.of_task(task_id)

    def _runs_to_forget(self, task_id: str) -> list[Run]:
        """The oldest first."""
        runs = self._data.runs
        ended = [run for *_, each in runs.history(task_id).downwards() if not (run := runs[each]).live]
        old = [run for place, run in enumerate(ended) if place >= self._keep_runs or self._is_old(run)]
        return old[::-1]

    def _is_old(self, run: Run) -> bool:
        return run.planned < self._before and run.ended is not None and run.ended < self._before

    def _forget(self, runs: list[Run]) -> int:
        for run in runs:
            self._data.forget_run(run.id)
        return len(runs)

    def _forget_events(self) -> int:
        removed = self._data.events.forget(self._before, self._left)
        for owner, number in removed.items():
            known = self._data.records.get((REMOVED_EVENTS, owner))
            version, before = (0, 0) if known is None else (known.version, int(known.body))
            record = Record(REMOVED_EVENTS, owner, owner, str(before + number), version + 1)
            self._data.records.write((REMOVED_EVENTS, owner), record)
        return removed.total()

    def _delete(self, task_id: str) -> int:
        self._data.forget_task(task_id)
        self._left -= 1
        return 1
