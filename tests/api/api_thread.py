"""A server in a thread of its own, for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.api.api_server import Api, served

_T = TypeVar("_T")
_LONGEST = 60


@dataclass(frozen=True)
class Remote:
    api: Api
    loop: asyncio.AbstractEventLoop

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        """On the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_LONGEST)


@contextmanager
def served_in_thread(**choices: Any) -> Iterator[Remote]:
    ready: asyncio.Future[Remote] | None = None
    stop = threading.Event()
    found: list[Remote] = []
    up = threading.Event()

    async def run() -> None:
        async with served(**choices) as api:
            found.append(Remote(api, asyncio.get_running_loop()))
            up.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="served")
    thread.start()
    try:
        assert up.wait(_LONGEST), ready
        yield found[0]
    finally:
        stop.set()
        thread.join(_LONGEST)
