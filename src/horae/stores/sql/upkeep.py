"""Upkeep port on a database server: retention, integrity check and key-value metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import StoreError
from ...model.counts import NO_HOUR, RETAINED_HOURS, STATE_PREFIX, hour_of
from ...model.ids import to_microseconds
from ...ports.store import TrimResult
from ..codec.json_codecs import decode
from ..retention_cursor import RetentionCursor
from .connection import Connection
from .ledger import SQLFeed
from .transactions import Session


class SQLUpkeep(SQLFeed):
    _clock: Clock
    _session: Session

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        await self._number_events()
        batch = await RetentionScan(self._session, before, keep_runs, limit).find(after)
        if batch.has_counts:
            this_hour = hour_of(self._clock.now())
            await self._session.transact(lambda connection: _compact_counters(connection, this_hour))
        if not batch.has_rows:
            return TrimResult(more=batch.more, after=batch.cursor.encoded)
        return await self._session.transact(lambda connection: remove_rows(connection, batch, before))

    async def check(self) -> tuple[str, ...]:
        return await self._session.read(_find_problems)

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(
            "A database server is backed up by its own tools (pg_dump, mariadb-dump); "
            "`horae move FROM_URL sqlite:///FILE` copies a deployment into a file."
        )

    async def read_metadata(self, name: str) -> str | None:
        return next((value for (value,) in await self._session.query("read_metadata", name)), None)

    async def write_metadata(self, name: str, value: str) -> None:
        await self._session.query("write_metadata", name, value)


async def _compact_counters(connection: Connection, this_hour: int) -> None:
    await connection.query("sum_counter_deltas")
    await connection.query("delete_old_counters", this_hour, RETAINED_HOURS)
    await connection.query("drop_unused_lanes")


async def _find_problems(connection: Connection) -> tuple[str, ...]:
    problems: list[str] = []
    for name, describe in _CHECKS:
        # A query may return a task once for each of its labels.
        problems += dict.fromkeys(describe(*row) for row in await connection.query(name))
    return tuple(problems)


def _checks() -> Iterator[tuple[str, Callable[..., str]]]:
    yield (
        "orphan_entries",
        lambda slot, task: f"The agenda entry {slot} belongs to task number {task}, which is not there.",
    )
    yield "orphan_runs", lambda run_id, task: f"The run {run_id} belongs to task number {task}, which is not there."
    yield "tasks_without_status", lambda task_id: f"The task {task_id} has no status."
    yield "mislabelled_tasks", lambda task_id: f"The task {task_id} is not found by the labels that it has."
    yield (
        "wrong_lane_slots",
        lambda lane, taken, live_runs: f"The lane {lane} counts {taken} slots taken, but has {live_runs} live runs.",
    )
    yield "tasks_without_work", lambda task_id: f"The task {task_id} is active, but nothing of it is queued or running."
    yield (
        "wrong_state_counters",
        lambda owner, name, recorded, actual: (
            f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
        ),
    )
    yield "runs_live_and_ended", lambda run_id: f"The run {run_id} is live, but the ledger says that it has ended."


_CHECKS = tuple(_checks())


_EVENT_BATCH: Final = 1_000
_TASK_BATCH: Final = 16
_SCAN_WINDOW: Final = 5_000


class ExpiredRun(NamedTuple):
    task: int
    planned: int
    attempt: int
    origin: str
    id: str


class ExpiredRows(NamedTuple):
    """Rows to delete: `runs`, `tasks` by number, `events` up to a number. `more`: there may be further rows."""

    runs: list[ExpiredRun]
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
    """Finds one batch of at most `limit` rows; a transaction deletes them.

    An ended run is final, but an ended task may have been resumed meanwhile: it is locked and checked again before it is
    deleted. Rows beyond the maximum age are found by their instants. The number of runs of a task can only grow when it
    emits events, so after a first scan of all tasks only those with new events are counted; an idle store costs one
    statement.
    """

    def __init__(self, session: Session, before: datetime, keep_runs: int, limit: int) -> None:
        self._session = session
        self._before = to_microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def find(self, after: str | None) -> ExpiredRows:
        ((*texts, last, has_deltas),) = await self._session.query("expired_rows", self._before, self._limit)
        runs, tasks, events = (decode(text or "[]") for text in texts)
        runs, counted = list(map(ExpiredRun._make, runs)), bool(has_deltas)
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
        runs: list[ExpiredRun] = []
        for task in tasks:
            remaining = self._limit - len(runs)
            surplus = await connection.query("surplus_runs", task, self._keep_runs, remaining + 1)
            runs += map(ExpiredRun._make, surplus[:remaining])
            if len(surplus) > remaining:
                return ExpiredRows(runs, [], 0, cursor, more=True)
        return ExpiredRows(runs, [], 0, next_cursor, more=next_cursor != RetentionCursor(last))

    async def _find_tasks_over_limit(
        self, connection: Connection, cursor: RetentionCursor, last: int
    ) -> tuple[list[int], RetentionCursor]:
        """Return the next tasks with too many runs, and the cursor after them."""
        if cursor.task is None:
            ((until,),) = await connection.query("event_window_end", cursor.event, _EVENT_BATCH, last)
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
        ((highest,),) = await connection.query("highest_task")
        return tasks, RetentionCursor(event, until if until < highest else None)


async def remove_rows(connection: Connection, batch: ExpiredRows, before: datetime) -> TrimResult:
    runs = 0
    if batch.runs:
        *occurrences, ids = (list(column) for column in zip(*batch.runs, strict=True))
        await connection.query("drop_lines", ids)
        runs = len(await connection.query("drop_runs", *occurrences))
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
