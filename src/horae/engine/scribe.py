"""Writes down what runs say, a handful at a time: a chatty run costs a commit now and then, not one for each line."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from ..errors import StoreError
from ..model.limits import LOG_LINES
from ..ports.journal import Journal, Line

GATHER_SECONDS: Final = 0.05
MOST_PENDING: Final = 20 * LOG_LINES


class Scribe:
    """Lines may come from any thread. What cannot be written is dropped rather than kept without bound."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._pending: deque[Line] = deque(maxlen=MOST_PENDING)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def write(self, line: Line) -> None:
        self._pending.append(line)
        if self._loop is not None and self._timer is None:
            self._loop.call_soon_threadsafe(self._soon)

    async def flush(self) -> None:
        """Everything that was said until now is in the journal, unless the store cannot take it."""
        async with self._writing:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if not lines:
                return
            try:
                await self._journal.write_lines(lines)
            except StoreError:
                # Run logs are a courtesy: they must neither hold up a settlement nor grow without bound.
                return

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self.flush()

    def _soon(self) -> None:
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(GATHER_SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        job = asyncio.ensure_future(self.flush())
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
