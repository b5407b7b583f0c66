"""Another process on the same file, without an engine: it adds tasks, and cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from horae import Horae
from horae.clock import SystemClock
from tests.faults.functions import clock_of, register
from tests.faults.oracle import Due, Series
from tests.faults.place import Place

_T = TypeVar("_T")

EVERYTHING: Final = {"missed": "all", "overlap": "queue_all"}
"""Policies under which each instant is run, however late: then the effects alone show that nothing was lost."""


class Wanted(NamedTuple):
    function: str
    series: Series
    payload: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    owner: str | None = None

    def due(self, task: str, created: datetime) -> Due:
        """What the oracle says of the task that came of it."""
        options = self.options or {}
        once = options.get("guarantee") == "at_most_once"
        must = not once and (self.series.times == 1 or options.items() >= EVERYTHING.items())
        return Due(task, self.series.due_from(created), at_most_once=once, must_run=must)


def ask(place: Place, question: Callable[[Horae], Awaitable[_T]]) -> _T:
    async def asking() -> _T:
        app = Horae(place.url, engine=False, clock=clock_of(place))
        register(app)
        async with app:
            return await question(app)

    return asyncio.run(asking())


def add(place: Place, *wanted: Wanted) -> tuple[Due, ...]:
    """They are on the disk when this returns; the answer is what the oracle says of them."""

    async def adding(app: Horae) -> tuple[Due, ...]:
        return tuple([await _add(app, each) for each in wanted])

    return ask(place, adding)


async def _add(app: Horae, wanted: Wanted) -> Due:
    options = wanted.options or {}
    handle = await app.schedule(wanted.function, wanted.series.when, wanted.payload, owner=wanted.owner, **options)
    return wanted.due(handle.id, handle.created)


def soon(seconds: float) -> datetime:
    """An instant a little ahead, by the machine's clock."""
    return SystemClock().now() + timedelta(seconds=seconds)
