"""Generates a file with months of history in seconds: the schema of the store, filled with plain SQL."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from typing import Any, Final

import apsw

import horae
from horae.clock import SystemClock
from horae.model.counts import LATENESS_PREFIX, NO_HOUR, OUTCOME_PREFIX, STATE_PREFIX, bucket_of
from horae.model.entry import NEXT_SLOT, Entry, EntryKind, EntryState
from horae.model.ids import make_id, run_id, to_microseconds
from horae.model.policy import DEFAULT_POLICIES
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, Target, Task, TaskState, TaskStatus
from horae.stores.codec.rows import encode_entry, encode_status, encode_task
from horae.stores.sqlite import SQLiteStore

SMALL_OWNER: Final = "group:small"
LARGE_OWNER: Final = "team:large"
RARE_LABEL: Final = ("ticket", "4711")
COMMON_LABEL: Final = ("team", "3")
RARE_TEXT: Final = "quarterly"
_RARE: Final = 10
"""So many tasks have what is rare, and the small owner has twice as many, whatever the size of the file."""
_LIVE: Final = 20
_OWNERS: Final = 200
_BYTES_EACH: Final = 1_000
_HOUR: Final = timedelta(hours=1)
_TARGET: Final = Target("http", '{"method":"POST","url":"https://api.example.com/jobs","redirects":0}')
_PAYLOAD: Final = (
    '{"customer":"c-000000","report":"daily","format":"pdf","recipients":["a@example.com","b@example.com"]}'
)
_RUNS: Final = """
INSERT INTO runs (id, task, owner, origin, planned, due, attempt, live, state, reason, token, node, claimed, started,
  ended, result, error)
SELECT printf('run_%012x%s', planned / 1000, lower(hex(randomblob(10)))), task, owner, 'scheduled', planned, planned, 1, 0,
  state, CASE state WHEN 'succeeded' THEN NULL WHEN 'failed' THEN 'target_failed' WHEN 'timed_out' THEN 'deadline'
    ELSE 'overlap' END,
  CASE state WHEN 'skipped' THEN 0 ELSE chance + 1 END, CASE state WHEN 'skipped' THEN NULL ELSE 'nod_1' END,
  CASE state WHEN 'skipped' THEN NULL ELSE planned + late - 500 END,
  CASE state WHEN 'skipped' THEN NULL ELSE planned + late END, planned + late + 200000,
  CASE state WHEN 'succeeded' THEN '{"rows":' || chance || ',"took":"0.2 s"}' END,
  CASE state WHEN 'failed' THEN 'api.example.com answered 503 Service Unavailable: try again later' END
FROM (
  SELECT task, owner, planned, chance, 1000 + 1000 * (chance % 5) AS late,
    CASE WHEN chance < 940 THEN 'succeeded' WHEN chance < 970 THEN 'failed' WHEN chance < 980 THEN 'timed_out'
      ELSE 'skipped' END AS state
  FROM (
    SELECT seq AS task, owner, created + :back + seq * :step AS planned, (seq * 7919 + :back / 1000000 * 31) % 1000 AS chance
    FROM tasks
  )
) ORDER BY planned
"""
_ENDED: Final = """
SELECT owner, coalesce(ended, due) / 3600000000, state, reason, started - due, count(*) FROM runs
WHERE live = 0 AND planned > ? GROUP BY 1, 2, 3, 4, 5
"""


def fill(path: str, tasks: int, runs_each: int) -> int:
    """How many bytes the file has then."""
    if disk_usage(Path(path).parent).free < 2 * _BYTES_EACH * tasks * runs_each:
        raise OSError(f"there is no room for {tasks * runs_each:,} runs")
    asyncio.run(make_file(path))
    now = SystemClock().now()
    connection = apsw.Connection(path)
    try:
        with without_indexes(connection), connection:
            _add_tasks(connection, tasks, now)
            for number in range(runs_each):
                back = to_microseconds(now) - to_microseconds(_created(now)) - (runs_each - number) * 3_600_000_000
                connection.execute(_RUNS, {"back": back, "step": 3_500_000_000 // tasks})
            _add_live_runs(connection, min(_LIVE, tasks), now)
            _add_counts(connection, now)
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    return Path(path).stat().st_size


async def make_file(path: str) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()


@contextmanager
def without_indexes(connection: apsw.Connection) -> Iterator[None]:
    """They are made again from what the schema says, which is faster than to enter every row into them."""
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    found = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, statement in found:
        connection.execute(str(statement))


def _created(now: datetime) -> datetime:
    return now - timedelta(days=90)


def _add_tasks(connection: apsw.Connection, tasks: int, now: datetime) -> None:
    schedule = horae.parse("every 1h")
    rows: list[tuple[Any, ...]] = []
    standings: list[tuple[Any, ...]] = []
    entries: list[tuple[Any, ...]] = []
    created = _created(now)
    for number in range(1, tasks + 1):
        task_id = make_id("tsk", created, number.to_bytes(10))
        task = Task(
            task_id, _owner(number, tasks), _name(number, tasks), schedule, _TARGET, _PAYLOAD, DEFAULT_POLICIES, created
        )
        rows.append((number, *encode_task(task._replace(labels=_labels(number, tasks)))))
        standing = _standing(number, now)
        standings.append(encode_status(number, 1, standing))
        if standing.state in (TaskState.ACTIVE, TaskState.PAUSED):
            due = now + _HOUR + timedelta(microseconds=number * 3_500_000_000 // tasks)
            stand = EntryState.TIMED if standing.pause is None else EntryState.ASLEEP
            entries.append(
                encode_entry(number, Entry(task_id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner, state=stand))
            )
    for table, values in (("tasks", rows), ("task_state", standings), ("agenda", entries)):
        marks = ", ".join("?" * len(values[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own names


def _is_rare(number: int, tasks: int, many: int = _RARE) -> bool:
    return number % max(tasks // many, 1) == 1 and number <= many * max(tasks // many, 1)


def _owner(number: int, tasks: int) -> str:
    if _is_rare(number, tasks, 2 * _RARE):
        return SMALL_OWNER
    return (LARGE_OWNER, LARGE_OWNER, "local", f"user:{number % _OWNERS}")[number % 4]


def _name(number: int, tasks: int) -> str:
    verb, noun = (
        ("send", "fetch", "check", "clean")[number % 4],
        ("report", "invoices", "backups", "feeds")[number // 4 % 4],
    )
    return f"{verb} {RARE_TEXT if _is_rare(number, tasks) else noun} {number:06d}"


def _labels(number: int, tasks: int) -> tuple[tuple[str, str], ...]:
    usual = (("source", "api"), ("team", str(number % 10)))
    return (*usual, RARE_LABEL) if _is_rare(number, tasks) else usual


def _standing(number: int, now: datetime) -> TaskStatus:
    usual = NEW_TASK_STATUS._replace(counted=50, last_end=now - _HOUR, last_result='{"rows":7}')
    match number % 100:
        case 1:
            return usual._replace(state=TaskState.FAILED, failures=10, ended=now - _HOUR)
        case 2 | 3:
            return usual._replace(state=TaskState.PAUSED, pause=Pause(now - _HOUR, PauseCause.REQUESTED, "", None))
        case 4:
            return usual._replace(state=TaskState.COMPLETED, ended=now - _HOUR)
        case _:
            return usual


def _add_live_runs(connection: apsw.Connection, many: int, now: datetime) -> None:
    """On a node that has just renewed."""
    at = to_microseconds(now)
    connection.execute(
        "INSERT INTO nodes (id, home, version, joined, renewed, renewals, host, load, capacity, clock_offset, draining)"
        " VALUES ('nod_1', 'here', '1', ?, ?, 1, 'here', 0, 512, 0, 0)",
        (at, at),
    )
    wanted = "SELECT seq, id, owner FROM tasks WHERE seq % 100 > 4 LIMIT ?"
    for number, task_id, owner in connection.execute(wanted, (many,)).fetchall():
        name = run_id(str(task_id), "scheduled", now, 1)
        connection.execute(
            "INSERT INTO runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)"
            " VALUES (?, ?, ?, 'scheduled', ?, ?, 1, 'running', 1, 'nod_1', ?, ?)",
            (name, number, owner, at, at, at, at),
        )


def _add_counts(connection: apsw.Connection, now: datetime) -> None:
    counts: Counter[tuple[str, int, str]] = Counter()
    states = "SELECT owner, state, count(*) FROM tasks JOIN task_state ON task = seq GROUP BY 1, 2"
    for owner, state, many in connection.execute(states):
        counts[owner, NO_HOUR, STATE_PREFIX + state] += many
    for owner, hour, state, reason, late, many in connection.execute(_ENDED, (to_microseconds(now - 48 * _HOUR),)):
        counts[owner, hour, OUTCOME_PREFIX + state + ("" if late is not None else f":{reason}")] += many
        if late is not None:
            counts[owner, hour, f"{LATENESS_PREFIX}{bucket_of(timedelta(microseconds=late))}"] += many
    for (_, hour, name), many in tuple(counts.items()):
        counts["", hour, name] += many
    connection.executemany("INSERT INTO counters VALUES (?, ?, ?, ?)", [(*key, many) for key, many in counts.items()])
