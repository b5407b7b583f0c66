"""What the store's file says, read with plain SQL beside all of the code that wrote it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import apsw

from horae.clock import SystemClock
from horae.stores.sqlite import SQLiteStore
from tests.faults.place import Place, until

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS: Final = """
SELECT tasks.id, runs.id, planned, attempt, runs.state, runs.reason, token, claimed, started, runs.ended,
  span_first, span_last, span_count
FROM runs JOIN tasks ON tasks.seq = runs.task ORDER BY task, planned, attempt
"""
_EVENTS: Final = "SELECT run_id, kind FROM events WHERE run_id IS NOT NULL ORDER BY number"
_BUSY: Final = """
SELECT EXISTS (SELECT 1 FROM runs WHERE live = 1) OR EXISTS (SELECT 1 FROM agenda WHERE due <= ?)
"""


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
    connection = apsw.Connection(str(place.store), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(10_000)
        return connection.execute(statement, bindings).fetchall()
    finally:
        connection.close()


def instant(number: int) -> datetime:
    return _EPOCH + timedelta(microseconds=number)


def number(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def gather(place: Place) -> Evidence:
    rows = tuple(_row(*values) for values in query(place, _ROWS))
    return Evidence(rows, tuple(query(place, _EVENTS)))


def until_quiet(place: Place, last: datetime, within: float, offset: timedelta = timedelta(0)) -> float:
    """Until an instant has passed, nothing runs, and nothing that is due waits; how many seconds that took.

    `offset` is how far the workers' clock is ahead of the machine's.
    """

    def quiet() -> bool:
        now = SystemClock().now() + offset
        return now > last and not query(place, _BUSY, (number(now),))[0][0]

    return until(quiet, within, "nothing running, and nothing due left")


def doubts(place: Place) -> tuple[str, ...]:
    """What the store's own check finds wrong."""

    async def check() -> tuple[str, ...]:
        store = SQLiteStore(place.store)
        await store.open()
        try:
            return await store.check()
        finally:
            await store.close()

    return asyncio.run(check())


def _row(*values: Any) -> Row:
    task, run, planned, attempt, state, reason, token, *instants, first, last, count = values
    claimed, started, ended = (None if each is None else instant(each) for each in instants)
    span = None if count is None else (instant(first), instant(last), count)
    return Row(task, run, instant(planned), attempt, state, reason, token, claimed, started, ended, span)
