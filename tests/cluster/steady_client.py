"""Client thread that adds tasks one after the other while a database fails over, and records which were acknowledged."""

from __future__ import annotations

import asyncio
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

from horae import Horae
from horae.clock import SystemClock
from horae.errors import StoreError
from tests.faults.client import TaskRequest, from_now
from tests.faults.functions import register
from tests.faults.oracle import Due, Series
from tests.faults.testbed import Testbed

_PAUSE_SECONDS: Final = 0.02
_AHEAD_SECONDS: Final = 0.3


class SteadyClient:
    """`acknowledged` holds what the store has confirmed; after an error the outcome is unknown, and another task follows."""

    def __init__(self, testbed: Testbed) -> None:
        self.acknowledged: list[Due] = []
        self.errors = 0
        self._testbed = testbed
        self._is_over = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._add_tasks()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    async def _add_tasks(self) -> None:
        app = Horae(self._testbed.url, engine=False)
        register(app)
        async with app:
            while not self._is_over.is_set():
                request = TaskRequest("note", Series(from_now(_AHEAD_SECONDS)))
                try:
                    handle = await app.schedule(request.function, request.series.when)
                except StoreError:
                    self.errors += 1
                else:
                    self.acknowledged.append(request.due(handle.id, handle.created))
                await SystemClock().pause(_PAUSE_SECONDS)
