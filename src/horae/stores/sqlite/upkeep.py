"""Upkeep port of the SQLite store: retention, integrity check, backup and deployment metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

import apsw

from ...model.counts import NO_HOUR, STATE_PREFIX
from ...model.ids import to_microseconds
from ...ports.store import TrimResult
from ..codec.json_codecs import decode
from ..retention_cursor import RetentionCursor
from .backup import write_backup
from .connection import Row, SqliteConnection, sql
from .load_facts import bind_names, bind_numbers
from .readers import Readers
from .row_batches import write_counters
from .writer import Writer

_READ_METADATA: Final = sql("read_metadata")
_WRITE_METADATA: Final = sql("write_metadata")


class SQLiteUpkeep:
    _writer: Writer
    _readers: Readers

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        expired = await RetentionScan(self._readers, before, keep_runs, limit).find(after)
        if not expired.has_rows:
            return TrimResult(more=expired.more, after=expired.cursor.encoded)
        return await self._writer.submit(lambda connection: remove_rows(connection, expired, before), urgent=False)

    async def check(self) -> tuple[str, ...]:
        return await self._readers.run_long(lambda connection: tuple(find_problems(connection)))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        await self._readers.run_long(lambda connection: write_backup(path, connection, progress))

    async def read_metadata(self, name: str) -> str | None:
        return next((value for (value,) in await self._readers.query(_READ_METADATA, (name,))), None)

    async def write_metadata(self, name: str, value: str) -> None:
        await self._writer.submit(lambda connection: connection.query(_WRITE_METADATA, (name, value)))


_INTEGRITY: Final = sql("integrity")
_ORPHAN_ENTRIES: Final = sql("orphan_entries")
_ORPHAN_RUNS: Final = sql("orphan_runs")
_TASKS_WITHOUT_STATUS: Final = sql("tasks_without_status")
_MISLABELLED: Final = sql("mislabelled_tasks")
_WRONG_LANE_SLOTS: Final = sql("wrong_lane_slots")
_TASKS_WITHOUT_WORK: Final = sql("tasks_without_work")
_WRONG_STATE_COUNTERS: Final = sql("wrong_state_counters")
_WRONG_LIVE_RUNS: Final = sql("wrong_live_runs")


def find_problems(connection: SqliteConnection) -> Iterator[str]:
    """Yield one sentence for each problem found."""
    try:
        yield from (f"The file is damaged: {problem}" for (problem,) in connection.query(_INTEGRITY) if problem != "ok")
        yield from _find_contradictions(connection)
    except apsw.CorruptError as error:
        yield f"The file is damaged: {error}"


def _find_contradictions(connection: SqliteConnection) -> Iterator[str]:
    for slot, task in connection.query(_ORPHAN_ENTRIES):
        yield f"The agenda entry {slot} belongs to task number {task}, which is not there."
    for run_id, task in connection.query(_ORPHAN_RUNS):
        yield f"The run {run_id} belongs to task number {task}, which is not there."
    for (task_id,) in connection.query(_TASKS_WITHOUT_STATUS):
        yield f"The task {task_id} has no status."
    for task_id in dict.fromkeys(task_id for (task_id,) in connection.query(_MISLABELLED)):
        yield f"The task {task_id} is not found by the labels that it has."
    for lane, taken, live_runs in connection.query(_WRONG_LANE_SLOTS):
        yield f"The lane {lane} counts {taken} slots taken, but has {live_runs} live runs."
    for (task_id,) in connection.query(_TASKS_WITHOUT_WORK):
        yield f"The task {task_id} is active, but nothing of it is queued or running."
    for owner, name, recorded, actual in connection.query(_WRONG_STATE_COUNTERS):
        yield f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
    for (task_id,) in connection.query(_WRONG_LIVE_RUNS):
        yield f"The task {task_id} has a wrong list of live runs."


_EXPIRED_ROWS: Final = sql("expired_rows")
_TASKS_OVER_RUN_LIMIT: Final = sql("tasks_over_run_limit")
_RECENT_TASKS_OVER_RUN_LIMIT: Final = sql("recent_tasks_over_run_limit")
_EVENT_WINDOW_END: Final = sql("event_window_end")
_SURPLUS_RUNS: Final = sql("surplus_runs")
_DROP_RUN: Final = sql("drop_run")
_DROP_LINES: Final = sql("drop_lines")
_COUNT_REMOVED_EVENTS: Final = sql("count_removed_events")
_DROP_EVENTS: Final = sql("drop_events")
_ENDED_TASKS: Final = sql("ended_tasks")
_DELETE_STATUS: Final = sql("delete_status")
_DELETE_TASK: Final = sql("delete_task")

_EVENT_BATCH: Final = 1_000
_TASK_BATCH: Final = 16


class ExpiredRows(NamedTuple):
    """Rows to delete: `runs` by number and id, `tasks` by number, `events` up to a number; `more` if there may be more."""

    runs: tuple[Row, ...]
    tasks: tuple[int, ...]
    events: int
    cursor: RetentionCursor
    more: bool

    @property
    def has_rows(self) -> bool:
        return bool(self.runs or self.tasks or self.events)


class RetentionScan:
    """Search for one batch of at most `limit` rows.

    A reader finds the rows, so that the writer only deletes them. Ended runs stay ended, but a task may have become active
    since: tasks are checked again in the write transaction. Expired rows are found by their instants. Only a task with a
    new event of a run can exceed the number of runs kept, so after a first pass over all tasks only tasks with new events
    are counted; while idle, one statement finds nothing to do.
    """

    def __init__(self, readers: Readers, before: datetime, keep_runs: int, limit: int) -> None:
        self._readers = readers
        self._before = to_microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def find(self, after: str | None) -> ExpiredRows:
        ((*texts, last),) = await self._readers.query(_EXPIRED_ROWS, {"before": self._before, "limit": self._limit})
        runs, tasks, events = map(decode, texts)
        cursor = RetentionCursor(last, 0) if after is None else RetentionCursor.parse(after)
        if runs or tasks or events:
            events = events[: max(0, self._limit - len(runs) - len(tasks))]
            tasks = tasks[: max(0, self._limit - len(runs))]
            return ExpiredRows(tuple(map(tuple, runs)), tuple(tasks), max(events, default=0), cursor, more=True)
        if cursor == RetentionCursor(last):
            return ExpiredRows((), (), 0, cursor, more=False)
        return await self._readers.run_long(lambda connection: self._find_surplus_runs(connection, cursor, last))

    def _find_surplus_runs(self, connection: SqliteConnection, cursor: RetentionCursor, last: int) -> ExpiredRows:
        """Find the oldest runs of tasks that have more than `keep_runs`."""
        tasks, next_cursor = self._find_tasks_over_limit(connection, cursor, last)
        runs: list[Row] = []
        for task in tasks:
            remaining = self._limit - len(runs)
            surplus = connection.query(_SURPLUS_RUNS, {"task": task, "keep": self._keep_runs, "limit": remaining + 1})
            runs += surplus[:remaining]
            if len(surplus) > remaining:
                return ExpiredRows(tuple(runs), (), 0, cursor, more=True)
        return ExpiredRows(tuple(runs), (), 0, next_cursor, more=next_cursor != RetentionCursor(last))

    def _find_tasks_over_limit(
        self, connection: SqliteConnection, cursor: RetentionCursor, last: int
    ) -> tuple[list[int], RetentionCursor]:
        """Return the next tasks with too many runs, and the cursor after them."""
        if cursor.task is None:
            window = {"after": cursor.event, "most": _EVENT_BATCH, "last": last}
            ((until,),) = connection.query(_EVENT_WINDOW_END, window)
            bindings = {"after": cursor.event, "until": until, "keep": self._keep_runs}
            tasks = [task for (task,) in connection.query(_RECENT_TASKS_OVER_RUN_LIMIT, bindings)]
            return tasks, RetentionCursor(until)
        bindings = {"after": cursor.task, "keep": self._keep_runs, "limit": _TASK_BATCH}
        tasks = [task for (task,) in connection.query(_TASKS_OVER_RUN_LIMIT, bindings)]
        return tasks, RetentionCursor(cursor.event, tasks[-1] if len(tasks) == _TASK_BATCH else None)


def remove_rows(connection: SqliteConnection, expired: ExpiredRows, before: datetime) -> TrimResult:
    runs = 0
    if expired.runs:
        connection.query(_DROP_LINES, (bind_names([run_id for _, run_id in expired.runs]),))
        for run in expired.runs:
            connection.query(_DROP_RUN, run)
            runs += connection.changed_rows
    ended = (
        connection.query(_ENDED_TASKS, (bind_numbers(expired.tasks), to_microseconds(before))) if expired.tasks else []
    )
    deltas: Counter[tuple[str, int, str]] = Counter()
    for task, state, owner in ended:
        connection.query(_DELETE_STATUS, (task,))
        connection.query(_DELETE_TASK, (task,))
        deltas[owner, NO_HOUR, STATE_PREFIX + state] -= 1
    write_counters(connection, deltas)
    events = 0
    if expired.events:
        connection.query(_COUNT_REMOVED_EVENTS, (expired.events,))
        connection.query(_DROP_EVENTS, (expired.events,))
        events = connection.changed_rows
    return TrimResult(runs, len(ended), events, expired.more, expired.cursor.encoded)
