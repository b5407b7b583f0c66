"""Backlog of thirty days with many minutely tasks (F13): punctual tasks run at once, the rest is recorded fast."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from typing import Final

from horae import Horae
from horae.clock import SystemClock
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.functions import register
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, marks
from tests.faults.store_snapshot import check_store, instant, number, query
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

CROWD: Final = int(os.environ.get("HORAE_FAULTS_CROWD") or sized(5_000, soak=20_000))
"""The full size is 100,000; a fifth of it shows the same behaviour."""
DOWN: Final = timedelta(days=30)
MINUTE: Final = timedelta(minutes=1)
SLOWEST: Final = 1_000
"""Smallest allowed rate, in tasks per second of processor time: half of the documented rate by the wall clock."""
PATIENCE: Final = 5
"""Factor by which wall time may exceed processor time."""

POLL_SECONDS: Final = 0.1
"""Rare, because polling costs the worker time too."""

_ACCOUNTS: Final = """
SELECT tasks.id, tasks.created, min(coalesce(span_first, planned)), max(planned), sum(coalesce(span_count, 1)), count(*),
  sum(runs.state = 'skipped' AND runs.reason = 'stale')
FROM tasks JOIN runs ON runs.task = tasks.seq WHERE tasks.name = 'light' AND attempt = 1 GROUP BY tasks.id
"""


class PastClock(SystemClock):
    """The machine's clock thirty days ago, before the outage."""

    def now(self) -> datetime:
        return super().now() - DOWN


async def fill(testbed: Testbed) -> None:
    app = Horae(testbed.url, engine=False, clock=PastClock(), zone="UTC")
    register(app)
    async with app:
        await app.schedule_many([("light", "every 1m", None)] * CROWD)


def test_f13_backlog_of_thirty_days_is_recorded_while_other_tasks_run_on_time(
    testbed: Testbed, workers: Workers, measured: Measure
) -> None:
    asyncio.run(fill(testbed))
    worker = workers.ready(lease=15.0, ceiling=10.0)
    began, busy = from_now(0), worker.busy_seconds
    series = Series(from_now(1), timedelta(seconds=1), 5)
    (theirs,) = add(testbed, TaskRequest("note", series, owner="another", options=RUN_EVERY_INSTANT))
    wait_until(lambda: bool(query(testbed, _ENDED)), 10, "the first fire on time", POLL_SECONDS)

    def accounted() -> bool:
        return not query(testbed, "SELECT EXISTS (SELECT 1 FROM agenda WHERE due <= ?)", (number(began),))[0][0]

    wait_until(accounted, PATIENCE * CROWD / SLOWEST, "the whole backlog accounted for", POLL_SECONDS)
    busy, seconds = worker.busy_seconds - busy, (from_now(0) - began).total_seconds()
    measured(f"F13 {CROWD} tasks, tasks a second", CROWD / seconds)
    measured(f"F13 {CROWD} tasks, tasks a second of the processor's time", CROWD / busy)
    assert CROWD / busy > SLOWEST
    wait_until(
        lambda: len(query(testbed, _ENDED)) == len(theirs.instants),
        TIMEOUT,
        "all of another owner's runs",
        POLL_SECONDS,
    )
    worker.stop()
    late = max((mark.instant - mark.planned).total_seconds() for mark in marks(testbed, "start"))
    measured("F13 worst lateness of another owner's tasks meanwhile", late)
    every_minute_has_its_row(testbed, since=began)
    crowd = {mark.task for mark in marks(testbed, "effect")} - {theirs.task}
    assert len(crowd) == CROWD
    assert check_store(testbed) == ()


def every_minute_has_its_row(testbed: Testbed, since: datetime) -> None:
    """Check that every minute since a task's creation is in one row, and each skipped stretch is one row.

    Thirty days are a stale stretch, a stretch merged into a newer run, and that run; a node that falls behind may skip
    again later, with one more row per minute.
    """
    accounts = query(testbed, _ACCOUNTS)
    most = 3 + 2 * ((from_now(0) - since) // MINUTE + 1)
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
