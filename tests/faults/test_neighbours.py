"""Processes on one file hear of each other at once: a ring, and not a poll, brings what another one has added."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from horae import Horae
from tests.faults.client import add, ask, soon
from tests.faults.evidence import gather, until_quiet
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, marks, one

AT_ONCE: Final = 5.0


def unhurried(workers: Workers) -> None:
    """Without a ring, it would look at nothing for half a minute."""
    workers.ready(lease=120.0, ceiling=60.0)


async def cancel(app: Horae, task: str) -> None:
    await app.service.tasks.cancel(app.who, task)


def test_what_another_process_adds_starts_at_its_instant(place: Place, workers: Workers, measured: Measure) -> None:
    unhurried(workers)
    handle = ask(place, lambda app: app.schedule("note", "in 2s"))
    due = handle.created + timedelta(seconds=2)
    until(has(place, "end"), 2 + AT_ONCE, "its end")
    (start,) = marks(place, "start")
    assert start.planned == due
    assert start.instant >= due
    measured("a task from another process, lateness", (start.instant - due).total_seconds())


def test_a_cancel_from_another_process_reaches_the_run(place: Place, workers: Workers, measured: Measure) -> None:
    unhurried(workers)
    due = add(place, one("awaited", {"gate": "never"}), one("held", {"gate": "never"}), one("apart", {"gate": "never"}))
    until(has(place, "start", 3), LONG, "three starts")
    for task in due:
        ask(place, partial(cancel, task=task.task))
    measured("a cancel from another process, to the end", until_quiet(place, soon(0), AT_ONCE))
    rows = gather(place).rows
    assert [(row.state, row.reason) for row in rows] == [("cancelled", "cancelled")] * 3
    assert not marks(place, "effect")
    assert judged(place, *(task._replace(must_run=False) for task in due)) == []
