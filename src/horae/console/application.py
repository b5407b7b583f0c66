"""The ASGI application of the console, all of its pages or those of the simple view; and batches of equal calls for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.routing import Router

from ..clock import Clock
from ..web.middleware import Application
from ..web.request_context import AppContext

BATCH_SECONDS: Final = 0.5
"""Time between two computations for one key whose first answered several calls; one caller alone does not wait."""
_MAX_KEYS: Final = 1_000
_T = TypeVar("_T")


class Batches:
    """Calls with equal keys share one result, which is computed after the last of them was made: none gets old data.

    Computations for one key follow each other, and calls that are made meanwhile wait for the next one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[Hashable, _Batch] = {}
        self._computing: dict[Hashable, _Batch] = {}
        self._next_at: dict[Hashable, float] = {}

    async def join(self, key: Hashable, compute: Callable[[], Awaitable[_T]]) -> _T:
        batch = self._waiting.get(key)
        if batch is None:
            batch = self._waiting[key] = _Batch()
            batch.result = asyncio.ensure_future(self._run(key, batch, compute))
        batch.callers += 1
        # A request that is cancelled must not take the result from the others.
        result: _T = await asyncio.shield(batch.result)
        return result

    async def _run(self, key: Hashable, batch: _Batch, compute: Callable[[], Awaitable[_T]]) -> _T:
        previous = self._computing.get(key)
        if previous is not None:
            await asyncio.wait([previous.result])
        wait = self._next_at.pop(key, 0.0) - self._clock.steady()
        if wait > 0:
            await self._clock.pause(wait)
        # Calls from here on begin the next batch.
        del self._waiting[key]
        self._computing[key] = batch
        if batch.callers > 1:
            if len(self._next_at) >= _MAX_KEYS:
                self._next_at.clear()
            self._next_at[key] = self._clock.steady() + BATCH_SECONDS
        try:
            return await compute()
        finally:
            if self._computing.get(key) is batch:
                del self._computing[key]


class _Batch:
    """Calls that share one computation."""

    def __init__(self) -> None:
        self.callers = 0
        self.result: asyncio.Future[Any]


class ConsoleApplication(Application):
    def __init__(self, router: Router, context: AppContext, *, is_simple: bool = False) -> None:
        super().__init__(router, context, [])
        self.is_simple = is_simple
        self.batches = Batches(context.clock)
        """Fragments that many open pages fetch at the same time."""


def has_simple_view_only(request: Request) -> bool:
    application = request.scope["app"]
    return isinstance(application, ConsoleApplication) and application.is_simple
