"""Load generator of the soak: adds tasks while the store may fail, and records requests and acknowledgements."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count
from threading import Event, Thread
from typing import Any, Final

from horae import Horae
from horae.clock import SystemClock
from horae.errors import StoreError
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, from_now
from tests.faults.functions import register
from tests.faults.oracle import Due, Series
from tests.faults.store_snapshot import Row, read_tasks
from tests.faults.testbed import Testbed

POLICIES: Final[tuple[dict[str, Any], ...]] = (
    RUN_EVERY_INSTANT,
    {},
    {"missed": "merge", "overlap": "queue"},
    {"overlap": "parallel"},
    {"guarantee": "at_most_once", **RUN_EVERY_INSTANT},
)
SINGLES: Final = 8
LASTING: Final = (0.5, 1.0, 2.0, 4.0)
AHEAD: Final = 6.0
"""Largest time in seconds from adding a task to its due instant."""


class Load(Thread):
    """Thread with its own app; adds nothing after `stop`."""

    def __init__(self, testbed: Testbed, seed: int, longest: int, every: float = 1.0) -> None:
        super().__init__(name="load", daemon=True)
        self.requests: dict[str, TaskRequest] = {}
        self.acknowledged: set[str] = set()
        self.refused = 0
        """Number of requests that the store refused or did not acknowledge."""
        self._place = testbed
        self._chance = random.Random(seed)
        self._longest = longest
        self._every = every
        self._finished = Event()
        self._numbers = count()

    def run(self) -> None:
        asyncio.run(self._run_load())

    def stop(self, within: float) -> None:
        self._finished.set()
        self.join(within)
        assert not self.is_alive(), "the load generator did not stop"

    @property
    def last(self) -> datetime:
        """Latest requested instant."""
        return max(request.series.last for request in self.requests.values())

    async def _run_load(self) -> None:
        """Reopen the store after an outage; requests during the outage may be stored or not."""
        while not self._finished.is_set():
            try:
                app = Horae(self._place.url, engine=False)
                register(app)
                async with app:
                    await self._add_until_over(app)
            except StoreError:
                self.refused += 1
                await SystemClock().pause(self._every)

    async def _add_until_over(self, app: Horae) -> None:
        while not self._finished.is_set():
            for request in self._batch():
                await self._add(app, f"work {next(self._numbers)}", request)
            await SystemClock().pause(self._every)

    async def _add(self, app: Horae, name: str, request: TaskRequest) -> None:
        self.requests[name] = request
        await app.schedule(request.function, request.series.when, request.payload, name=name, **(request.options or {}))
        self.acknowledged.add(name)

    def _batch(self) -> Iterable[TaskRequest]:
        for _ in range(SINGLES):
            seconds = self._chance.choice([0, *LASTING])
            function, payload = ("lasting", {"seconds": seconds}) if seconds else ("slow", None)
            yield TaskRequest(function, Series(from_now(self._chance.uniform(0, AHEAD))), payload)
        every = timedelta(milliseconds=self._chance.choice([170, 310, 570]))
        series = Series(from_now(self._chance.uniform(0.5, AHEAD)), every, self._chance.randint(3, self._longest))
        yield TaskRequest("note", series, options=self._chance.choice(POLICIES))

    def dues(self, rows: Iterable[Row]) -> tuple[list[Due], list[str]]:
        """Return what the oracle expects of all stored tasks, and the acknowledged tasks that are missing.

        A task that lost three processes in a row is quarantined, and none of its later instants run.
        """
        found = {name: (task, created) for task, name, created in read_tasks(self._place)}
        missing = [f"lost: {name} was acknowledged, and is not there" for name in self.acknowledged - found.keys()]
        last = {row.task: row.planned for row in rows if row.reason == "quarantined"}
        dues = [self.requests[name].due(*task) for name, task in found.items()]
        return [_until(due, last) for due in dues], missing


def _until(due: Due, last: dict[str, Any]) -> Due:
    if due.task not in last:
        return due
    return due._replace(instants=tuple(each for each in due.instants if each <= last[due.task]), must_run=False)
