"""Thread with the event loop of the lease keeper, which must not wait for a function that blocks the main loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


class LeaseThread:
    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: list[asyncio.Task[None]] = []
        self._end_lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run a coroutine on this thread's loop; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine until `stop`; callable only on this thread's loop."""
        self._jobs.append(self._loop.create_task(work))

    def call(self, action: Callable[[], None]) -> None:
        # A call while the thread ends is dropped.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)

    def stop(self) -> None:
        """Cancel the jobs and block until the thread has ended; idempotent."""
        with self._end_lock:
            if self._loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(self._cancel_jobs(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _cancel_jobs(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
