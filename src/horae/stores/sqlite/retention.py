"""What may be forgotten, in small batches: never anything that is live, queued or still to come.

A reader looks for it, so that the writer has only to remove what was found. What has ended stays so, but a task may
have been woken up meanwhile: it is looked at again before it goes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from ...model.ids import microseconds
from ...ports.store import Trimmed
from .gather import these
from .link import Link, Row
from .statements import sql
from .surroundings import named

_TASKS: Final = sql("old_tasks")
_RUNS: Final = sql("old_runs")
_EVENTS: Final = sql("old_events")
_DROP_RUN: Final = sql("drop_run")
_DROP_LINES: Final = sql("drop_lines")
_DROP_EVENTS: Final = sql("drop_events")
_OVER: Final = sql("still_over")
_DELETE_STANDING: Final = sql("delete_standing")
_DELETE_TASK: Final = sql("delete_task")
_BEFORE_THE_FIRST: Final = ""


class Found(NamedTuple):
    """`runs` by number and id, `tasks` by number, `events` up to a number; `after` is where to look next."""

    runs: tuple[Row, ...]
    tasks: tuple[int, ...]
    events: int
    after: str | None


class Search:
    """One batch: at most `limit` rows are found, and no more tasks than that are looked at."""

    def __init__(self, before: datetime, keep_runs: int, limit: int) -> None:
        self._before = microseconds(before)
        self._keep_runs = keep_runs
        self._limit = self._left = max(1, limit)
        self._runs: list[Row] = []
        self._tasks: list[int] = []

    def look(self, link: Link, after: str | None) -> Found:
        bindings = {"before": self._before, "after": after or _BEFORE_THE_FIRST, "limit": self._limit + 1}
        done = after
        tasks = link.query(_TASKS, bindings)
        for number, task_id, over in tasks[: self._limit]:
            if not self._look_at(link, number, over=bool(over)):
                return self._found(0, done or _BEFORE_THE_FIRST)
            done = task_id
        if len(tasks) > self._limit:
            return self._found(0, done)
        ((last, count),) = link.query(_EVENTS, {"before": self._before, "limit": self._left})
        return self._found(last or 0, None if count < self._left else done or _BEFORE_THE_FIRST)

    def _look_at(self, link: Link, task: int, *, over: bool) -> bool:
        """False when there is more of this task than the batch has room for."""
        bindings = {
            "task": task,
            "everything": over,
            "keep": self._keep_runs,
            "before": self._before,
            "limit": self._left + 1,
        }
        old = link.query(_RUNS, bindings)
        self._runs += old[: self._left]
        if len(old) + over > self._left:
            return False
        self._left -= len(old) + over
        if over:
            self._tasks.append(task)
        return True

    def _found(self, events: int, after: str | None) -> Found:
        return Found(tuple(self._runs), tuple(self._tasks), events, after)


def remove(link: Link, found: Found, before: datetime) -> Trimmed:
    runs = 0
    if found.runs:
        link.query(_DROP_LINES, (named([run_id for _, run_id in found.runs]),))
        for run in found.runs:
            link.query(_DROP_RUN, run)
            runs += link.changed
    over = link.query(_OVER, (these(found.tasks), microseconds(before))) if found.tasks else []
    for task in over:
        link.query(_DELETE_STANDING, task)
        link.query(_DELETE_TASK, task)
    events = 0
    if found.events:
        link.query(_DROP_EVENTS, (found.events,))
        events = link.changed
    return Trimmed(runs, len(over), events, found.after)
