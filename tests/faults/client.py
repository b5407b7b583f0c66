"""Client without an engine on the store of a test: adds and cancels tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from horae import Horae
from horae.clock import SystemClock
from tests.faults.functions import clock_of, register
from tests.faults.oracle import Due, Series
from tests.faults.testbed import Testbed

_T = TypeVar("_T")

RUN_EVERY_INSTANT: Final = {"missed": "all", "overlap": "queue_all"}
"""Policies that run each instant however late: the effects alone then show that nothing was lost."""


class TaskRequest(NamedTuple):
    function: str
    series: Series
    payload: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    owner: str | None = None

    def due(self, task: str, created: datetime) -> Due:
        """Return what the oracle expects of the task that this request created."""
        options = self.options or {}
        once = options.get("guarantee") == "at_most_once"
        must = not once and (self.series.times == 1 or options.items() >= RUN_EVERY_INSTANT.items())
        return Due(task, self.series.due_from(created), at_most_once=once, must_run=must)


def call_app(testbed: Testbed, call: Callable[[Horae], Awaitable[_T]]) -> _T:
    async def open_and_call() -> _T:
        app = Horae(testbed.url, engine=False, clock=clock_of(testbed))
        register(app)
        async with app:
            return await call(app)

    return asyncio.run(open_and_call())


def add(testbed: Testbed, *requests: TaskRequest) -> tuple[Due, ...]:
    """Add tasks durably; return what the oracle expects of each."""

    async def adding(app: Horae) -> tuple[Due, ...]:
        return tuple([await _add(app, each) for each in requests])

    return call_app(testbed, adding)


async def _add(app: Horae, request: TaskRequest) -> Due:
    options = request.options or {}
    handle = await app.schedule(request.function, request.series.when, request.payload, owner=request.owner, **options)
    return request.due(handle.id, handle.created)


def from_now(seconds: float) -> datetime:
    """Return the instant `seconds` ahead of the machine's clock."""
    return SystemClock().now() + timedelta(seconds=seconds)
