"""Thirty days down with a crowd of minutely tasks (F13): what is on time fires at once, the rest is accounted for fast."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from typing import Final

from horae import Horae
from horae.clock import SystemClock
from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import doubts, instant, number, query
from tests.faults.functions import register
from tests.faults.oracle import Series
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, marks
from tests.sizes import sized

CROWD: Final = int(os.environ.get("HORAE_FAULTS_CROWD") or sized(5_000, soak=20_000))
"""The full measure is 100,000; a fifth of it shows the same in a test run."""
DOWN: Final = timedelta(days=30)
MINUTE: Final = timedelta(minutes=1)
SLOWEST: Final = 1_000
"""Tasks in a second of the processor's time, half of what is promised by the clock: the machine may be busy otherwise."""
PATIENCE: Final = 5
"""So many times longer it may take by the clock."""

LOOK_SECONDS: Final = 0.1
"""Seldom, because looking costs the worker something too."""

_ACCOUNTS: Final = """
SELECT tasks.id, tasks.created, min(coalesce(span_first, planned)), max(planned), sum(coalesce(span_count, 1)), count(*),
  sum(runs.state = 'skipped' AND runs.reason = 'stale')
FROM tasks JOIN runs ON runs.task = tasks.seq WHERE tasks.name = 'light' AND attempt = 1 GROUP BY tasks.id
"""


class LongAgo(SystemClock):
    """The machine's clock as it was before everything went down."""

    def now(self) -> datetime:
        return super().now() - DOWN


async def fill(place: Place) -> None:
    app = Horae(place.url, engine=False, clock=LongAgo(), zone="UTC")
    register(app)
    async with app:
        await app.schedule_many([("light", "every 1m", None)] * CROWD)


def test_f13_a_backlog_of_thirty_days(place: Place, workers: Workers, measured: Measure) -> None:
    asyncio.run(fill(place))
    worker = workers.ready(lease=15.0, ceiling=10.0)
    began, busy = soon(0), worker.busy_seconds
    series = Series(soon(1), timedelta(seconds=1), 5)
    (theirs,) = add(place, Wanted("note", series, owner="another", options=EVERYTHING))
    until(lambda: bool(query(place, _ENDED)), 10, "the first fire on time", LOOK_SECONDS)

    def accounted() -> bool:
        return not query(place, "SELECT EXISTS (SELECT 1 FROM agenda WHERE due <= ?)", (number(began),))[0][0]

    until(accounted, PATIENCE * CROWD / SLOWEST, "the whole backlog accounted for", LOOK_SECONDS)
    busy, seconds = worker.busy_seconds - busy, (soon(0) - began).total_seconds()
    measured(f"F13 {CROWD} tasks, tasks a second", CROWD / seconds)
    measured(f"F13 {CROWD} tasks, tasks a second of the processor's time", CROWD / busy)
    assert CROWD / busy > SLOWEST
    until(lambda: len(query(place, _ENDED)) == len(theirs.instants), LONG, "all of another owner's runs", LOOK_SECONDS)
    worker.end()
    late = max((mark.instant - mark.planned).total_seconds() for mark in marks(place, "start"))
    measured("F13 worst lateness of another owner's tasks meanwhile", late)
    every_minute_has_its_row(place, since=began)
    crowd = {mark.task for mark in marks(place, "effect")} - {theirs.task}
    assert len(crowd) == CROWD
    assert doubts(place) == ()


def every_minute_has_its_row(place: Place, since: datetime) -> None:
    """From one minute after its creation on, and one row for each stretch that was skipped.

    Of thirty days that is a stretch that was too old, one that a newer run stood for, and that run; a node that cannot keep
    up with the crowd may skip again later, and that is a row more for each minute.
    """
    accounts = query(place, _ACCOUNTS)
    most = 3 + 2 * ((soon(0) - since) // MINUTE + 1)
    assert len(accounts) == CROWD
    for task, created, first, last, instants, rows, stale in accounts:
        anchor = instant(created)
        assert instant(first) == anchor + MINUTE, task
        assert (instant(last) - anchor) % MINUTE == timedelta(0), task
        assert instants == (instant(last) - anchor) // MINUTE, task
        assert stale == 1, task
        assert 3 <= rows <= most, task


_ENDED: Final = """
SELECT 1 FROM runs JOIN tasks ON tasks.seq = runs.task WHERE tasks.name = 'note' AND runs.state = 'succeeded'
"""
