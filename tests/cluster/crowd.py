"""Crowd of up to a million tasks due in one second: add, wait, and count effects."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from horae import Horae
from tests.faults.client import call_app
from tests.faults.processes import Worker
from tests.faults.store_snapshot import is_on_redis, query, read_snapshot, read_tasks, wait_until_quiet
from tests.faults.testbed import Testbed

SECOND: Final = timedelta(seconds=1)
POLL_SECONDS: Final = 0.2
"""Rare, because polling costs the nodes time too."""
SLOWEST: Final = 250
"""Smallest rate that is waited for, in starts per second; the rate itself is measured, not asserted."""
_ENDS: Final = """
SELECT runs.state, runs.attempt, count(*) FROM runs JOIN tasks ON tasks.seq = runs.task WHERE tasks.name = 'light'
GROUP BY runs.state, runs.attempt
"""


class Crowd(NamedTuple):
    """`size` tasks, all due in the second from `first` on."""

    size: int
    first: datetime

    def add(self, testbed: Testbed) -> None:
        """Add the tasks, each at its own instant within the second."""

        async def adding(app: Horae) -> None:
            step = SECOND / self.size
            whens = ((self.first + step * number).isoformat() for number in range(self.size))
            kind = {"kind": "once", "zone": "UTC"}
            await app.schedule_many((("light", kind | {"at": when}, None) for when in whens), owner="crowd")

        call_app(testbed, adding)

    def wait(self, testbed: Testbed) -> None:
        """Wait until every task has run."""
        patience = 60 + self.size / SLOWEST
        wait_until_quiet(testbed, self.first + SECOND, patience, every=POLL_SECONDS)

    def find_violations(self, testbed: Testbed) -> list[str]:
        """Return violations: each task has one effect and one succeeded run."""
        effects = Counter(_tasks(testbed.ledger))
        others = {task for task, name, _ in read_tasks(testbed) if name != "light"}
        times = Counter(number for task, number in effects.items() if task not in others)
        wrong = (
            [] if times == {1: self.size} else [f"crowd: so often (and so many of them) they happened: {dict(times)}"]
        )
        ends = _read_ends(testbed, others)
        return wrong if ends == [("succeeded", 1, self.size)] else [*wrong, f"crowd: they ended as {ends}"]

    def rate(self, testbed: Testbed) -> float:
        """Starts per second, from the first instant to the last effect."""
        last = max(json.loads(line)["instant"] for line in _lines(testbed.ledger))
        return self.size / (datetime.fromisoformat(last) - self.first).total_seconds()


def _read_ends(testbed: Testbed, others: set[str]) -> list[tuple[str, int, int]]:
    """Return state, attempt and number of the runs of the crowd."""
    if is_on_redis(testbed):
        ends = Counter((row.state, row.attempt) for row in read_snapshot(testbed).rows if row.task not in others)
        return [(*end, times) for end, times in ends.items()]
    return [tuple(row) for row in query(testbed, _ENDS)]


def peak_megabytes(worker: Worker) -> float:
    """Peak resident memory of a worker."""
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def _lines(ledger: Path) -> list[str]:
    with ledger.open() as lines:
        return [line for line in lines if '"effect"' in line]


def _tasks(ledger: Path) -> list[str]:
    return [json.loads(line)["task"] for line in _lines(ledger)]
