"""Wakeup between processes on one SQLite file: a task or a cancel takes effect at once, without waiting for a poll."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from horae import Horae
from tests.faults.client import add, call_app, from_now
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, one_shot, violations
from tests.faults.store_snapshot import read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until

AT_ONCE: Final = 5.0


def start_slow_polling_worker(workers: Workers) -> None:
    """Start a worker that polls every 60 seconds: only a wakeup makes it act earlier."""
    workers.ready(lease=120.0, ceiling=60.0)


async def cancel(app: Horae, task: str) -> None:
    await app.service.tasks.cancel(app.who, task)


def test_task_added_by_another_process_starts_on_time(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    start_slow_polling_worker(workers)
    handle = call_app(testbed, lambda app: app.schedule("note", "in 2s"))
    due = handle.created + timedelta(seconds=2)
    wait_until(has_marks(testbed, "end"), 2 + AT_ONCE, "its end")
    (start,) = marks(testbed, "start")
    assert start.planned == due
    assert start.instant >= due
    measured("a task from another process, lateness", (start.instant - due).total_seconds())


def test_cancel_by_another_process_reaches_the_run(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    start_slow_polling_worker(workers)
    due = add(
        testbed,
        one_shot("awaited", {"gate": "never"}),
        one_shot("held", {"gate": "never"}),
        one_shot("apart", {"gate": "never"}),
    )
    wait_until(has_marks(testbed, "start", 3), TIMEOUT, "three starts")
    for task in due:
        call_app(testbed, partial(cancel, task=task.task))
    measured("a cancel from another process, to the end", wait_until_quiet(testbed, from_now(0), AT_ONCE))
    rows = read_snapshot(testbed).rows
    assert [(row.state, row.reason) for row in rows] == [("cancelled", "cancelled")] * 3
    assert not marks(testbed, "effect")
    assert violations(testbed, *(task._replace(must_run=False) for task in due)) == []
