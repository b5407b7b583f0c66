"""Work that keeps coming, whatever happens to the store: what was asked for, and what was acknowledged."""

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
from tests.faults.client import EVERYTHING, Wanted, soon
from tests.faults.evidence import Row, instant, query
from tests.faults.functions import register
from tests.faults.oracle import Due, Series
from tests.faults.place import Place

POLICIES: Final[tuple[dict[str, Any], ...]] = (
    EVERYTHING,
    {},
    {"missed": "merge", "overlap": "queue"},
    {"overlap": "parallel"},
    {"guarantee": "at_most_once", **EVERYTHING},
)
SINGLES: Final = 8
LASTING: Final = (0.5, 1.0, 2.0, 4.0)
AHEAD: Final = 6.0
"""Seconds, at most, from being added to being due."""


class Load(Thread):
    """A thread with an app of its own; after `stop` nothing more is asked for."""

    def __init__(self, place: Place, seed: int, longest: int, every: float = 1.0) -> None:
        super().__init__(name="load", daemon=True)
        self.asked: dict[str, Wanted] = {}
        self.acknowledged: set[str] = set()
        self.refused = 0
        """How often the store could not take it, or could not say that it had."""
        self._place = place
        self._chance = random.Random(seed)
        self._longest = longest
        self._every = every
        self._over = Event()
        self._numbers = count()

    def run(self) -> None:
        asyncio.run(self._go_on())

    def stop(self, within: float) -> None:
        self._over.set()
        self.join(within)
        assert not self.is_alive(), "whoever adds tasks does not come to an end"

    @property
    def last(self) -> datetime:
        """Of all instants that were ever asked for."""
        return max(wanted.series.last for wanted in self.asked.values())

    async def _go_on(self) -> None:
        """A store that is away is opened again; what was asked for meanwhile may be there or not."""
        while not self._over.is_set():
            try:
                app = Horae(self._place.url, engine=False)
                register(app)
                async with app:
                    await self._add_until_over(app)
            except StoreError:
                self.refused += 1
                await SystemClock().pause(self._every)

    async def _add_until_over(self, app: Horae) -> None:
        while not self._over.is_set():
            for wanted in self._batch():
                await self._add(app, f"work {next(self._numbers)}", wanted)
            await SystemClock().pause(self._every)

    async def _add(self, app: Horae, name: str, wanted: Wanted) -> None:
        self.asked[name] = wanted
        await app.schedule(wanted.function, wanted.series.when, wanted.payload, name=name, **(wanted.options or {}))
        self.acknowledged.add(name)

    def _batch(self) -> Iterable[Wanted]:
        for _ in range(SINGLES):
            seconds = self._chance.choice([0, *LASTING])
            function, payload = ("lasting", {"seconds": seconds}) if seconds else ("slow", None)
            yield Wanted(function, Series(soon(self._chance.uniform(0, AHEAD))), payload)
        every = timedelta(milliseconds=self._chance.choice([170, 310, 570]))
        series = Series(soon(self._chance.uniform(0.5, AHEAD)), every, self._chance.randint(3, self._longest))
        yield Wanted("note", series, options=self._chance.choice(POLICIES))

    def dues(self, rows: Iterable[Row]) -> tuple[list[Due], list[str]]:
        """What the oracle says of all tasks that are there, and the tasks that were acknowledged and are not.

        A task that lost three processes in a row is quarantined, and nothing of it comes after that.
        """
        found = {
            name: (task, instant(at)) for task, name, at in query(self._place, "SELECT id, name, created FROM tasks")
        }
        missing = [f"lost: {name} was acknowledged, and is not there" for name in self.acknowledged - found.keys()]
        last = {row.task: row.planned for row in rows if row.reason == "quarantined"}
        dues = [self.asked[name].due(*task) for name, task in found.items()]
        return [_until(due, last) for due in dues], missing


def _until(due: Due, last: dict[str, Any]) -> Due:
    if due.task not in last:
        return due
    return due._replace(instants=tuple(each for each in due.instants if each <= last[due.task]), must_run=False)
