"""What the store says, read with plain SQL beside all of the code that wrote it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from horae.clock import SystemClock
from horae.runtime import make_store, sqlite_path
from tests.faults.place import LOOK_SECONDS, Place, until
from tests.faults.reading import read

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS: Final = """id, task, planned, attempt, state, reason, token, claimed, started, ended,
  span_first, span_last, span_count"""
_ON_A_SERVER: Final = f"SELECT {_COLUMNS} FROM runs UNION ALL SELECT {_COLUMNS} FROM live_runs"  # noqa: S608 - our own words
"""There, what goes on has a table of its own."""
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
"""On PostgreSQL what many have in common stands in one row."""
_BUSY: Final = "SELECT (SELECT count(*) FROM {}) + (SELECT count(*) FROM agenda WHERE due <= ?)"


class Row(NamedTuple):
    """One row of the store's ledger. `span` is (first, last, count) where it stands for a stretch."""

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


class Evidence(NamedTuple):
    rows: tuple[Row, ...]
    events: tuple[tuple[str, str], ...]
    """(run, kind), in the order in which they were told."""


def query(place: Place, statement: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
    return read(place.url, statement, bindings)


def instant(number: int) -> datetime:
    return _EPOCH + timedelta(microseconds=number)


def number(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def gather(place: Place) -> Evidence:
    every = f"SELECT {_COLUMNS} FROM runs" if sqlite_path(place.url) else _ON_A_SERVER  # noqa: S608
    rows = tuple(_row(*values) for values in query(place, _ROWS.format(every)))
    events = _EVENTS_IN_BUNDLES if place.url.startswith("postgres") else _EVENTS
    return Evidence(rows, tuple((run, kind) for run, kind in query(place, events)))


def busy(place: Place, until: datetime) -> int:
    """How much is going, or due by an instant and waiting."""
    live = "runs WHERE live = 1" if sqlite_path(place.url) else "live_runs"
    found: int = query(place, _BUSY.format(live), (number(until),))[0][0]
    return found


def until_quiet(
    place: Place, last: datetime, within: float, offset: timedelta = timedelta(0), every: float = LOOK_SECONDS
) -> float:
    """Until an instant has passed, nothing runs, and nothing that is due waits; how many seconds that took.

    `offset` is how far the workers' clock is ahead of the machine's.
    """

    def quiet() -> bool:
        now = SystemClock().now() + offset
        return now > last and not busy(place, now)

    return until(quiet, within, "nothing running, and nothing due left", every)


def doubts(place: Place) -> tuple[str, ...]:
    """What the store's own check finds wrong."""
    return asyncio.run(_check_store(place.url))


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
