"""Retention: deletes ended runs, ended tasks and events in small batches, never anything live or queued.

A read finds the rows and a transaction deletes them. An ended run is final, but an ended task may have been resumed
meanwhile: it is locked and checked again before it is deleted.

Rows beyond the maximum age are found by their instants. The number of runs of a task can only grow when it emits events,
so after a first scan of all tasks only those with new events are counted; an idle store costs one statement.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...model.counts import NO_HOUR, STATE_PREFIX
from ...model.ids import to_microseconds
from ...ports.store import TrimResult
from ..codec.json_codecs import decode
from ..retention_cursor import RetentionCursor
from .connection import Connection
from .transactions import Session

_EVENT_BATCH: Final = 1_000
_TASK_BATCH: Final = 16
_SCAN_WINDOW: Final = 5_000


class ExpiredRows(NamedTuple):
    """Rows to delete: `runs` as (task, planned, attempt, origin, id), `tasks` by number, `events` up to a number. `more`:
    there may be further rows."""

    runs: list[list[Any]]
    tasks: list[int]
    events: int
    cursor: RetentionCursor
    more: bool
    has_counts: bool = False
    """Whether there are counter deltas to be summed up."""

    @property
    def has_rows(self) -> bool:
        return bool(self.runs or self.tasks or self.events)


class RetentionScan:
    """Finds one batch of at most `limit` rows."""

    def __init__(self, session: Session, before: datetime, keep_runs: int, limit: int) -> None:
        self._session = session
        self._before = to_microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def find(self, after: str | None) -> ExpiredRows:
        row = (await self._session.query("expired_rows", self._before, self._limit))[0]
        runs, tasks, events = (decode(text or "[]") for text in row[:3])
        last, counted = row[3], bool(row[4])
        cursor = RetentionCursor(last, 0) if after is None else RetentionCursor.parse(after)
        if runs or tasks or events:
            events = events[: max(0, self._limit - len(runs) - len(tasks))]
            tasks = tasks[: max(0, self._limit - len(runs))]
            return ExpiredRows(runs, tasks, max(events, default=0), cursor, more=True, has_counts=counted)
        if cursor == RetentionCursor(last):
            return ExpiredRows([], [], 0, cursor, more=False, has_counts=counted)
        batch = await self._session.read(lambda connection: self._find_surplus_runs(connection, cursor, last))
        return batch._replace(has_counts=counted)

    async def _find_surplus_runs(self, connection: Connection, cursor: RetentionCursor, last: int) -> ExpiredRows:
        """Find the oldest runs of tasks that have more than `keep_runs`."""
        tasks, next_cursor = await self._find_tasks_over_limit(connection, cursor, last)
        runs: list[list[Any]] = []
        for task in tasks:
            remaining = self._limit - len(runs)
            surplus = [
                list(row) for row in await connection.query("surplus_runs", task, self._keep_runs, remaining + 1)
            ]
            runs += surplus[:remaining]
            if len(surplus) > remaining:
                return ExpiredRows(runs, [], 0, cursor, more=True)
        return ExpiredRows(runs, [], 0, next_cursor, more=next_cursor != RetentionCursor(last))

    async def _find_tasks_over_limit(
        self, connection: Connection, cursor: RetentionCursor, last: int
    ) -> tuple[list[int], RetentionCursor]:
        """Return the next tasks with too many runs, and the cursor after them."""
        if cursor.task is None:
            until = (await connection.query("event_window_end", cursor.event, _EVENT_BATCH, last))[0][0]
            rows = await connection.query("recent_tasks_over_run_limit", cursor.event, until, self._keep_runs)
            return [task for (task,) in rows], RetentionCursor(until)
        return await self._scan_all_tasks(connection, cursor.event, cursor.task)

    async def _scan_all_tasks(
        self, connection: Connection, event: int, after: int
    ) -> tuple[list[int], RetentionCursor]:
        until = after + _SCAN_WINDOW
        rows = await connection.query("tasks_over_run_limit", after, self._keep_runs, _TASK_BATCH, until)
        tasks = [task for (task,) in rows]
        if len(tasks) == _TASK_BATCH:
            return tasks, RetentionCursor(event, tasks[-1])
        (highest,) = (await connection.query("highest_task"))[0]
        return tasks, RetentionCursor(event, until if until < highest else None)


async def remove_rows(connection: Connection, batch: ExpiredRows, before: datetime) -> TrimResult:
    runs = 0
    if batch.runs:
        await connection.query("drop_lines", [row[4] for row in batch.runs])
        columns = [list(column) for column in zip(*batch.runs, strict=True)]
        runs = len(await connection.query("drop_runs", *columns[:4]))
    ended: list[Any] = []
    if batch.tasks:
        await connection.query("lock_tasks", sorted(batch.tasks))
        ended = await connection.query("ended_tasks", batch.tasks, to_microseconds(before))
    state_deltas: Counter[tuple[str, str]] = Counter()
    for task, state, owner in ended:
        await connection.query("delete_task", task)
        state_deltas[owner, state] -= 1
    if state_deltas:
        rows = [
            value
            for (owner, state), number in state_deltas.items()
            for value in (owner, NO_HOUR, STATE_PREFIX + state, number)
        ]
        await connection.write_rows("insert_counter_deltas", 4, rows)
    events = len(await connection.query("drop_events", batch.events)) if batch.events else 0
    return TrimResult(runs, len(ended), events, batch.more, batch.cursor.encoded)
