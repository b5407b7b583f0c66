"""A crowd of tasks that are due in one second: added, waited for, and counted, also when there are a million of them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from horae import Horae
from tests.faults.client import ask
from tests.faults.evidence import query, until_quiet
from tests.faults.place import Place
from tests.faults.processes import Worker

SECOND: Final = timedelta(seconds=1)
LOOK_SECONDS: Final = 0.2
"""Seldom, because looking costs the nodes something too."""
SLOWEST: Final = 250
"""Starts a second that are waited for at least; what is promised is measured, not asserted."""
_ENDS: Final = """
SELECT runs.state, runs.attempt, count(*) FROM runs JOIN tasks ON tasks.seq = runs.task WHERE tasks.name = 'light'
GROUP BY runs.state, runs.attempt
"""


class Crowd(NamedTuple):
    """So many, all due in the second that begins with an instant."""

    size: int
    first: datetime

    def add(self, place: Place) -> None:
        """Each of them has an instant of its own within the second."""

        async def adding(app: Horae) -> None:
            step = SECOND / self.size
            whens = ((self.first + step * number).isoformat() for number in range(self.size))
            kind = {"kind": "once", "zone": "UTC"}
            await app.schedule_many((("light", kind | {"at": when}, None) for when in whens), owner="crowd")

        ask(place, adding)

    def wait(self, place: Place) -> None:
        """Until nothing is left of it."""
        patience = 60 + self.size / SLOWEST
        until_quiet(place, self.first + SECOND, patience, every=LOOK_SECONDS)

    def wrong(self, place: Place) -> list[str]:
        """Each of them has happened once, and the store says so too."""
        effects = Counter(_tasks(place.ledger))
        others = {task for (task,) in query(place, "SELECT id FROM tasks WHERE name <> 'light'")}
        times = Counter(number for task, number in effects.items() if task not in others)
        wrong = (
            [] if times == {1: self.size} else [f"crowd: so often (and so many of them) they happened: {dict(times)}"]
        )
        ends = [tuple(row) for row in query(place, _ENDS)]
        return wrong if ends == [("succeeded", 1, self.size)] else [*wrong, f"crowd: they ended as {ends}"]

    def rate(self, place: Place) -> float:
        """Starts a second, from the first instant to the last effect."""
        last = max(json.loads(line)["instant"] for line in _lines(place.ledger))
        return self.size / (datetime.fromisoformat(last) - self.first).total_seconds()


def peak_megabytes(worker: Worker) -> float:
    """The most that a process ever had in memory."""
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def _lines(ledger: Path) -> list[str]:
    with ledger.open() as lines:
        return [line for line in lines if '"effect"' in line]


def _tasks(ledger: Path) -> list[str]:
    return [json.loads(line)["task"] for line in _lines(ledger)]
