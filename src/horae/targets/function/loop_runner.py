"""Runs one async function on an event loop of its own, in a thread or in a child process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class LoopRunner:
    """Event loop of one call. `run` blocks until the function has ended; `stop` cancels it from any thread."""

    def __init__(
        self, call: Callable[[], Awaitable[Any]], on_start: Callable[[LoopRunner], None] | None = None
    ) -> None:
        self._call = call
        self._on_start = on_start
        self._stopping = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> Any:
        return asyncio.run(self._main())

    def stop(self) -> None:
        self._stopping = True
        if self._running is not None:
            loop, task = self._running
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

    async def _main(self) -> Any:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - said for the type checker
        self._running = asyncio.get_running_loop(), task
        if self._stopping:
            raise asyncio.CancelledError
        if self._on_start is not None:
            self._on_start(self)
        return await self._call()
