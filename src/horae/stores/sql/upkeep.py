"""Upkeep port of the SQL stores: retention, integrity check and key-value metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from ...clock import Clock
from ...model.counts import (
    NO_HOUR,
    OUTCOME_RETAINED_HOURS,
    RETAINED_HOURS,
    STATE_PREFIX,
    SWEPT_HOURS,
    hour_of,
)
from ...model.ids import to_microseconds
from ...model.task import TaskState
from ...ports.store import TrimResult
from ..chains import contradicting_links, describe_link, find_row_problems
from ..codec.json_codecs import decode
from ..codec.rows import Row, decode_chain_row, decode_task
from ..retention_cursor import RetentionCursor
from .connection import Statements, Transactions
from .feed import SQLFeed

SCAN_WINDOW: Final = 5_000
"""Task numbers whose runs a server counts at once: counting the whole ledger may take minutes."""


Check: TypeAlias = tuple[str, Callable[..., str]]
"""A statement that finds contradictions, and the sentence for one of its rows."""


def _checks() -> Iterator[Check]:
    yield (
        "orphan_entries",
        lambda slot, task: f"The agenda entry {slot} belongs to task number {task}, which is not there.",
    )
    yield "orphan_runs", lambda run_id, task: f"The run {run_id} belongs to task number {task}, which is not there."
    yield "orphan_chain_rows", lambda task: f"A chain row belongs to task number {task}, which is not there."
    yield "tasks_without_status", lambda task_id: f"The task {task_id} has no status."
    yield "mislabelled_tasks", lambda task_id: f"The task {task_id} is not found by the labels or lanes that it has."
    yield (
        "wrong_lane_slots",
        lambda lane, taken, live_runs: f"The lane {lane} counts {taken} slots taken, but has {live_runs} live runs.",
    )
    yield "wrong_lane_starts", lambda lane: f"The lane {lane} counts other starts than it keeps."
    yield (
        "lanes_without_wakeup",
        lambda lane: f"Entries wait in the lane {lane} for its rate, and nothing will wake them.",
    )
    yield "orphan_messages", lambda stream: f"Messages belong to stream number {stream}, which is not there."
    yield (
        "wrong_stream_numbers",
        lambda owner, name: f"The stream {name} of {owner} counts other messages than it holds.",
    )
    yield (
        "wrong_cursors",
        lambda reader, stream: f"The reader {reader} of stream number {stream} is beyond its end, or has no stream.",
    )
    yield "tasks_without_work", lambda task_id: f"The task {task_id} is active, but nothing of it is queued or running."
    yield (
        "wrong_state_counters",
        lambda owner, name, recorded, actual: (
            f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
        ),
    )


CHECKS: Final = tuple(_checks())
SERVER_CHECKS: Final = (
    *CHECKS,
    ("runs_live_and_ended", lambda run_id: f"The run {run_id} is live, but the ledger says that it has ended."),
)


class SQLUpkeep(SQLFeed):
    _clock: Clock
    _scan_window = SCAN_WINDOW
    _checks: ClassVar[tuple[Check, ...]] = SERVER_CHECKS

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        await self._number_events()
        batch = await RetentionScan(self._database, before, keep_runs, limit, self._scan_window).find(after)
        if batch.has_counts:
            this_hour = hour_of(self._clock.now())
            await self._database.transact(lambda connection: _compact_counters(connection, this_hour), urgent=False)
        if batch.has_chain_rows:
            expired = (to_microseconds(before), limit)
            await self._database.transact(
                lambda connection: connection.query("drop_chain_rows", *expired), urgent=False
            )
        if not batch.has_rows:
            return TrimResult(more=batch.more, after=batch.cursor.encoded)
        await self._shorten_logs([row[-1] for row in batch.runs])
        return await self._database.transact(
            lambda connection: self._remove_rows(connection, batch, before), urgent=False
        )

    async def _remove_rows(self, connection: Statements, batch: ExpiredRows, before: datetime) -> TrimResult:
        return await remove_rows(connection, batch, before)

    async def _shorten_logs(self, run_ids: list[str]) -> None:
        """Delete long logs before their runs, in slices that are small transactions; at most one slice remains.

        The last lines go first, so that a reader never finds a log without its beginning.
        """
        rows = await self._database.query("last_line_number", run_ids) if run_ids else []
        kept = 0
        for run_id, last in rows:
            number = last or 0
            while kept + number > _LINE_BATCH and number > 0:
                number = max(0, number - _LINE_BATCH)
                await self._database.transact(partial(_drop_lines_above, run_id=run_id, number=number), urgent=False)
            kept += number

    async def check(self) -> tuple[str, ...]:
        problems: list[str] = []
        await self._database.read(lambda connection: find_problems(connection, self._checks, problems), extent="all")
        return tuple(problems)

    async def read_metadata(self, name: str) -> str | None:
        return next((value for (value,) in await self._database.query("read_metadata", name)), None)

    async def write_metadata(self, name: str, value: str) -> None:
        await self._database.run_statement(lambda connection: connection.query("write_metadata", name, value))


async def _drop_lines_above(connection: Statements, *, run_id: str, number: int) -> None:
    await connection.query("drop_lines_above", run_id, number)


async def _compact_counters(connection: Statements, this_hour: int) -> None:
    await connection.query("sum_counter_deltas")
    await connection.query("delete_old_counters", this_hour, RETAINED_HOURS, OUTCOME_RETAINED_HOURS, SWEPT_HOURS)
    await connection.query("drop_unused_lanes")
    await connection.query("drop_unused_lane_turns")


async def find_problems(connection: Statements, checks: Iterable[Check], problems: list[str]) -> None:
    """Append one sentence for each contradiction, so that those before a failure are known."""
    for name, describe in checks:
        # A query may return a task once for each of its labels.
        problems += dict.fromkeys(describe(*row) for row in await connection.query(name))
    problems += await _find_link_problems(connection)
    problems += find_row_problems(map(decode_chain_row, await connection.query("doubtful_chain_rows")))


async def _find_link_problems(connection: Statements) -> list[str]:
    rows = await connection.query("chained_tasks")
    found = contradicting_links((decode_task(row[:-1]), TaskState(row[-1])) for row in rows)
    if not found:
        return []
    present = {
        decode_task(row).id for row in await connection.query("linked_tasks", sorted({each for each, _ in found}))
    }
    return [describe_link(predecessor, successor) for predecessor, successor in found if predecessor in present]


_EVENT_BATCH: Final = 1_000
_LINE_BATCH: Final = 5_000
_TASK_BATCH: Final = 16


class ExpiredRows(NamedTuple):
    """Rows to delete: `runs` as the columns of `drop_runs` and the id, `tasks` by number, `events` up to a number. `more`:
    there may be further rows."""

    runs: list[Row]
    tasks: list[int]
    events: int
    cursor: RetentionCursor
    more: bool
    has_counts: bool = False
    """Whether there are counter deltas to be summed up."""
    has_chain_rows: bool = False
    """Whether there are expired chain rows."""

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

    def __init__(
        self, database: Transactions, before: datetime, keep_runs: int, limit: int, scan_window: int = SCAN_WINDOW
    ) -> None:
        self._database = database
        self._scan_window = scan_window
        self._before = to_microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def find(self, after: str | None) -> ExpiredRows:
        rows = await self._database.query("expired_rows", self._before, self._limit)
        ((*texts, last, has_deltas, has_chain_rows),) = rows
        found = await self._find(after, texts, last)
        return found._replace(has_counts=bool(has_deltas), has_chain_rows=bool(has_chain_rows))

    async def _find(self, after: str | None, texts: list[str | None], last: int) -> ExpiredRows:
        runs, tasks, events = (decode(text or "[]") for text in texts)
        cursor = RetentionCursor(last, 0) if after is None else RetentionCursor.parse(after)
        if runs or tasks or events:
            events = events[: max(0, self._limit - len(runs) - len(tasks))]
            tasks = tasks[: max(0, self._limit - len(runs))]
            return ExpiredRows(runs, tasks, max(events, default=0), cursor, more=True)
        if cursor == RetentionCursor(last):
            return ExpiredRows([], [], 0, cursor, more=False)
        return await self._database.read(
            lambda connection: self._find_surplus_runs(connection, cursor, last), extent="all"
        )

    async def _find_surplus_runs(self, connection: Statements, cursor: RetentionCursor, last: int) -> ExpiredRows:
        """Find the oldest runs of tasks that have more than `keep_runs`."""
        tasks, next_cursor = await self._find_tasks_over_limit(connection, cursor, last)
        runs: list[Row] = []
        for task in tasks:
            remaining = self._limit - len(runs)
            surplus = await connection.query("surplus_runs", task, self._keep_runs, remaining + 1)
            runs += surplus[:remaining]
            if len(surplus) > remaining:
                return ExpiredRows(runs, [], 0, cursor, more=True)
        return ExpiredRows(runs, [], 0, next_cursor, more=next_cursor != RetentionCursor(last))

    async def _find_tasks_over_limit(
        self, connection: Statements, cursor: RetentionCursor, last: int
    ) -> tuple[list[int], RetentionCursor]:
        """Return the next tasks with too many runs, and the cursor after them."""
        if cursor.task is None:
            ((until,),) = await connection.query("event_window_end", cursor.event, _EVENT_BATCH, last)
            rows = await connection.query("recent_tasks_over_run_limit", cursor.event, until, self._keep_runs)
            return [task for (task,) in rows], RetentionCursor(until)
        return await self._scan_all_tasks(connection, cursor.event, cursor.task)

    async def _scan_all_tasks(
        self, connection: Statements, event: int, after: int
    ) -> tuple[list[int], RetentionCursor]:
        until = after + self._scan_window
        rows = await connection.query("tasks_over_run_limit", after, self._keep_runs, _TASK_BATCH, until)
        tasks = [task for (task,) in rows]
        if len(tasks) == _TASK_BATCH:
            return tasks, RetentionCursor(event, tasks[-1])
        ((highest,),) = await connection.query("highest_task")
        return tasks, RetentionCursor(event, until if until < highest else None)


async def remove_rows(connection: Statements, batch: ExpiredRows, before: datetime) -> TrimResult:
    runs = 0
    if batch.runs:
        *key_columns, run_ids = [list(column) for column in zip(*batch.runs, strict=True)]
        await connection.query("drop_lines", run_ids)
        runs = len(await connection.query("drop_runs", *key_columns))
    ended: list[Any] = []
    if batch.tasks:
        await connection.query("lock_tasks", sorted(batch.tasks))
        ended = await connection.query("ended_tasks", batch.tasks, to_microseconds(before))
    deltas: Counter[tuple[str, int, str]] = Counter()
    for task, state, owner in ended:
        await connection.query("delete_task", task)
        deltas[owner, NO_HOUR, STATE_PREFIX + state] -= 1
    if deltas:
        await connection.write_counts(deltas)
    events = len(await connection.query("drop_events", batch.events)) if batch.events else 0
    return TrimResult(runs, len(ended), events, batch.more, batch.cursor.encoded)
