"""Thirty days down with a crowd of minutely tasks (F13): what is on time fires at once, the rest is accounted for fast."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from typing import Final

from horae import Horae
from horae.clock import SystemClock
from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import doubts, instant, number, query, until_quiet
from tests.faults.functions import register
from tests.faults.oracle import Series
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import Measure, marks

CROWD: Final = int(os.environ.get("HORAE_FAULTS_CROWD", "20000"))
"""The full measure is 100,000; a fifth of it shows the same in a test run."""
DOWN: Final = timedelta(days=30)
MINUTE: Final = timedelta(minutes=1)
SLOWEST: Final = 1_000
"""Tasks a second: half of what is promised, because a test may run on a busy machine."""

LOOK_SECONDS: Final = 0.1
"""Seldom, because looking costs the worker something too."""

_ACCOUNTS: Final = """
SELECT tasks.id, tasks.created, min(coalesce(span_first, planned)), max(planned), sum(coalesce(span_count, 1)), count(*),
  sum(runs.state = 'skipped' AND runs.reason = 'stale'), sum(runs.state = 'skipped' AND runs.reason = 'merged')
FROM tasks JOIN runs ON runs.task = tasks.seq WHERE tasks.name = 'light' GROUP BY tasks.id
"""


class LongAgo(SystemClock):
    """The machine's clock as it was before everything went down."""

    def now(self) -> datetime:
        return super().now() - DOWN


def fill(place: Place) -> None:
    async def filling() -> None:
        app = Horae(place.url, engine=False, clock=LongAgo(), zone="UTC")
        register(app)
        async with app:
            await app.schedule_many([("light", "every 1m", None)] * CROWD)

    asyncio.run(filling())


def test_f13_a_backlog_of_thirty_days(place: Place, workers: Workers, measured: Measure) -> None:
    fill(place)
    worker = workers.ready(lease=15.0, ceiling=10.0)
    began = soon(0)
    series = Series(soon(1), timedelta(seconds=1), 5)
    (theirs,) = add(place, Wanted("note", series, owner="another", options=EVERYTHING))
    until(lambda: bool(query(place, _ENDED)), 10, "the first fire on time", LOOK_SECONDS)

    def accounted() -> bool:
        return not query(place, "SELECT EXISTS (SELECT 1 FROM agenda WHERE due <= ?)", (number(began),))[0][0]

    until(accounted, CROWD / SLOWEST, "the whole backlog accounted for", LOOK_SECONDS)
    seconds = (soon(0) - began).total_seconds()
    measured(f"F13 {CROWD} tasks, tasks a second", CROWD / seconds)
    until_quiet(place, series.last, 60)
    worker.end()
    late = max((mark.instant - mark.planned).total_seconds() for mark in marks(place, "start"))
    measured("F13 worst lateness of another owner's tasks meanwhile", late)
    every_minute_has_its_row(place)
    crowd = {mark.task for mark in marks(place, "effect")} - {theirs.task}
    assert len(crowd) == CROWD
    assert doubts(place) == ()


def every_minute_has_its_row(place: Place) -> None:
    """From one minute after its creation on, and one row for each stretch that was skipped."""
    accounts = query(place, _ACCOUNTS)
    assert len(accounts) == CROWD
    for task, created, first, last, instants, rows, stale, merged in accounts:
        anchor = instant(created)
        assert instant(first) == anchor + MINUTE, task
        assert (instant(last) - anchor) % MINUTE == timedelta(0), task
        assert instants == (instant(last) - anchor) // MINUTE, task
        assert (stale, merged) == (1, 1), task
        # What comes due after the start is run one by one.
        assert rows <= 3 + (soon(0) - instant(last)) // MINUTE + 2, task


_ENDED: Final = """
SELECT 1 FROM runs JOIN tasks ON tasks.seq = runs.task WHERE tasks.name = 'note' AND runs.state = 'succeeded'
"""
