"""Snapshot of a store's runs, events and tasks, read with plain SQL or plain Redis commands instead of the store's code."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from horae.clock import SystemClock
from horae.runtime import make_store, sqlite_path
from tests.faults import raw_redis
from tests.faults.raw_sql import read, write
from tests.faults.testbed import POLL_SECONDS, Testbed, wait_until

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS: Final = """id, task, planned, attempt, state, reason, token, claimed, started, ended,
  span_first, span_last, span_count"""
_ON_A_SERVER: Final = f"SELECT {_COLUMNS} FROM runs UNION ALL SELECT {_COLUMNS} FROM live_runs"  # noqa: S608 - constant text
"""Database servers have live runs in their own table."""
_ROWS: Final = """
SELECT tasks.id, every.id, planned, attempt, state, reason, token, claimed, started, ended,
  span_first, span_last, span_count
FROM ({}) AS every JOIN tasks ON tasks.seq = every.task ORDER BY task, planned, attempt
"""
_EVENTS: Final = "SELECT run_id, kind FROM events WHERE run_id IS NOT NULL ORDER BY number"
_EVENTS_IN_BUNDLES: Final = """
SELECT run_id, kind FROM (
  SELECT tx, place, run_id, kind FROM events WHERE run_id IS NOT NULL
  UNION ALL
  SELECT tx, place + (nth - 1) * cardinality(kinds::text[]) + step, run_id, (kinds::text[])[step]
  FROM packed_events, unnest(run_ids::text[]) WITH ORDINALITY AS run (run_id, nth), generate_series(1, cardinality(kinds::text[])) AS step
  WHERE starts_with((kinds::text[])[step], 'run.')
) AS all_events ORDER BY tx, place
"""
"""PostgreSQL packs events of many runs into one row."""
_ENTRIES: Final = "SELECT tasks.id, agenda.slot, agenda.planned FROM agenda JOIN tasks ON tasks.seq = agenda.task"
_STATE: Final = """
SELECT task_state.state, task_state.reason FROM task_state JOIN tasks ON tasks.seq = task_state.task WHERE tasks.id = ?
"""
_BUSY: Final = "SELECT (SELECT count(*) FROM {}) + (SELECT count(*) FROM agenda WHERE due <= ?)"


class Row(NamedTuple):
    """One run of the store. `span` is (first, last, count) of a skipped stretch."""

    task: str
    run: str
    planned: datetime
    attempt: int
    state: str
    reason: str | None
    token: int
    claimed: datetime | None
    started: datetime | None
    ended: datetime | None
    span: tuple[datetime, datetime, int] | None


class Snapshot(NamedTuple):
    rows: tuple[Row, ...]
    events: tuple[tuple[str, str], ...]
    """(run, kind), in the order of their numbers."""


def query(testbed: Testbed, statement: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
    """Run a statement on a store with SQL."""
    return read(testbed.url, statement, bindings)


def instant(number: int) -> datetime:
    return _EPOCH + timedelta(microseconds=number)


def number(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def is_on_redis(testbed: Testbed) -> bool:
    return testbed.url.startswith("redis")


def read_tasks(testbed: Testbed) -> list[tuple[str, str, datetime]]:
    """Return id, name and instant of creation of all tasks."""
    found = (
        raw_redis.read_tasks(testbed.url)
        if is_on_redis(testbed)
        else query(testbed, "SELECT id, name, created FROM tasks")
    )
    return [(task, name, instant(created)) for task, name, created in found]


def read_entries(testbed: Testbed) -> list[tuple[str, str, datetime]]:
    """Return task, slot and planned instant of all agenda entries."""
    found = raw_redis.read_entries(testbed.url) if is_on_redis(testbed) else query(testbed, _ENTRIES)
    return [(task, slot, instant(planned)) for task, slot, planned in found]


def read_state(testbed: Testbed, task: str) -> list[tuple[str, str | None]]:
    """Return state and reason of a task; none if it is gone."""
    if is_on_redis(testbed):
        return raw_redis.read_state(testbed.url, task)
    return query(testbed, _STATE, (task,))


def overwrite_with_success(testbed: Testbed, run: str) -> None:
    """Write an end over that of a run, without the store: for planted defects."""
    if is_on_redis(testbed):
        raw_redis.overwrite_state(testbed.url, run, "succeeded")
    else:
        write(testbed.url, "UPDATE runs SET state = 'succeeded', reason = NULL WHERE id = ?", (run,))


def read_snapshot(testbed: Testbed) -> Snapshot:
    if is_on_redis(testbed):
        on_redis = tuple(_row(*values) for values in raw_redis.read_runs(testbed.url))
        return Snapshot(on_redis, tuple(raw_redis.read_events(testbed.url)))
    every = f"SELECT {_COLUMNS} FROM runs" if sqlite_path(testbed.url) else _ON_A_SERVER  # noqa: S608
    rows = tuple(_row(*values) for values in query(testbed, _ROWS.format(every)))
    events = _EVENTS_IN_BUNDLES if testbed.url.startswith("postgres") else _EVENTS
    return Snapshot(rows, tuple((run, kind) for run, kind in query(testbed, events)))


def busy(testbed: Testbed, due_by: datetime) -> int:
    """Count live runs, and agenda entries due by an instant."""
    if is_on_redis(testbed):
        return raw_redis.count_busy(testbed.url, number(due_by))
    live = "runs WHERE live = 1" if sqlite_path(testbed.url) else "live_runs"
    found: int = query(testbed, _BUSY.format(live), (number(due_by),))[0][0]
    return found


def wait_until_quiet(
    testbed: Testbed, last: datetime, within: float, offset: timedelta = timedelta(0), every: float = POLL_SECONDS
) -> float:
    """Wait until `last` has passed, nothing runs and nothing due is left; return the seconds.

    `offset` is how far the workers' clock is ahead of the machine's.
    """

    def quiet() -> bool:
        now = SystemClock().now() + offset
        return now > last and not busy(testbed, now)

    return wait_until(quiet, within, "nothing running, and nothing due left", every)


def check_store(testbed: Testbed) -> tuple[str, ...]:
    """Return the findings of the store's own check."""
    return asyncio.run(_check_store(testbed.url))


async def _check_store(url: str) -> tuple[str, ...]:
    store = make_store(url)
    await store.open()
    try:
        return await store.check()
    finally:
        await store.close()


def _row(*values: Any) -> Row:
    task, run, planned, attempt, state, reason, token, *instants, first, last, count = values
    claimed, started, ended = (None if each is None else instant(each) for each in instants)
    span = None if count is None else (instant(first), instant(last), count)
    return Row(task, run, instant(planned), attempt, state, reason, token, claimed, started, ended, span)
