"""A thread with an event loop, for the one actor that must not wait for anybody's function."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


class OwnThread:
    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: list[asyncio.Task[None]] = []
        self._ending = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """From any thread: run it there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """From that very thread: let it go on until the end."""
        self._jobs.append(self._loop.create_task(work))

    def call(self, action: Callable[[], None]) -> None:
        # Who rings while it ends, rings for nobody.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)

    def end(self) -> None:
        """Safe to call twice; blocks until the thread is gone."""
        with self._ending:
            if self._loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _cancel(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
