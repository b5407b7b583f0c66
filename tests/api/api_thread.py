"""Runs the API server of the tests in its own thread, for blocking HTTP clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.api.api_server import Api, serve_api

_T = TypeVar("_T")
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Remote:
    api: Api
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the server's event loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_TIMEOUT_SECONDS)


@contextmanager
def serve_api_in_thread(**choices: Any) -> Iterator[Remote]:
    ready: asyncio.Future[Remote] | None = None
    stop = threading.Event()
    found: list[Remote] = []
    up = threading.Event()

    async def run() -> None:
        async with serve_api(**choices) as api:
            found.append(Remote(api, asyncio.get_running_loop()))
            up.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="api-server")
    thread.start()
    try:
        assert up.wait(_TIMEOUT_SECONDS), ready
        yield found[0]
    finally:
        stop.set()
        thread.join(_TIMEOUT_SECONDS)
