"""What may be forgotten, in small batches: never anything that is live, queued or still to come."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...model.ids import microseconds
from ...ports.store import Trimmed
from .gather import these
from .link import Link
from .statements import sql
from .surroundings import named

_TASKS: Final = sql("trim_tasks")
_RUNS: Final = sql("trim_runs")
_DROP_RUNS: Final = sql("drop_runs")
_DROP_LINES: Final = sql("drop_lines")
_DROP_EVENTS: Final = sql("drop_events")
_DELETE_STANDING: Final = sql("delete_standing")
_DELETE_TASK: Final = sql("delete_task")
_BEFORE_THE_FIRST: Final = ""


class Retention:
    """One batch: at most `limit` rows are removed, and no more tasks than that are looked at."""

    def __init__(self, link: Link, before: datetime, keep_runs: int, limit: int) -> None:
        self._link = link
        self._before = microseconds(before)
        self._keep_runs = keep_runs
        self._limit = self._left = max(1, limit)

    def go_on(self, after: str | None) -> Trimmed:
        runs = tasks = 0
        done = after
        bindings = {"before": self._before, "after": after or _BEFORE_THE_FIRST, "limit": self._limit + 1}
        found = self._link.query(_TASKS, bindings)
        for task, task_id, over in found[: self._limit]:
            forgotten, finished = self._forget_runs(task, everything=bool(over))
            runs += forgotten
            if not finished or (over and self._left == 0):
                return Trimmed(runs, tasks, 0, done or _BEFORE_THE_FIRST)
            if over:
                tasks += self._delete(task)
            done = task_id
        if len(found) > self._limit:
            return Trimmed(runs, tasks, 0, done)
        events = self._forget_events()
        return Trimmed(runs, tasks, events, None if events < self._left else done or _BEFORE_THE_FIRST)

    def _forget_runs(self, task: int, *, everything: bool) -> tuple[int, bool]:
        """How many went, and whether those were all that may go."""
        bindings = {
            "task": task,
            "everything": everything,
            "keep": self._keep_runs,
            "before": self._before,
            "limit": self._left + 1,
        }
        old = self._link.query(_RUNS, bindings)
        going = old[: self._left]
        if going:
            self._link.query(_DROP_LINES, (named([run_id for _, run_id in going]),))
            self._link.query(_DROP_RUNS, (these([number for number, _ in going]),))
        finished = len(old) <= self._left
        self._left -= len(going) if finished else 0
        return len(going), finished

    def _delete(self, task: int) -> int:
        self._link.query(_DELETE_STANDING, (task,))
        self._link.query(_DELETE_TASK, (task,))
        self._left -= 1
        return 1

    def _forget_events(self) -> int:
        self._link.query(_DROP_EVENTS, {"before": self._before, "limit": self._left})
        return self._link.changed
