"""Writes down what runs say, a handful at a time: a chatty run costs a commit now and then, not one for each line."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..model.limits import LOG_LINES
from ..ports.journal import Journal, Line
from ..store_retry import StoreRetry

GATHER_SECONDS: Final = 0.05
MOST_PENDING: Final = 20 * LOG_LINES
LOG: Final = logging.getLogger("horae")


class Scribe:
    """Lines may come from any thread. Run logs are a courtesy: they neither hold up a settlement nor grow without bound."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._retry = StoreRetry("writing of run logs", clock)
        self._pending: deque[Line] = deque(maxlen=MOST_PENDING)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing = asyncio.Lock()
        self._due = False
        self._timer: asyncio.TimerHandle | None = None
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def write(self, line: Line) -> None:
        self._pending.append(line)
        if not self._due and self._loop is not None:
            self._due = True
            # A thread may outlive the loop of its node: then nobody listens any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._soon, GATHER_SECONDS)

    async def flush(self) -> None:
        """Everything that was said until now is in the journal, unless the store cannot take it."""
        async with self._writing:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if lines:
                await self._keep(lines)

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due = None, False
        await self.flush()

    async def _keep(self, lines: list[Line]) -> None:
        try:
            await self._journal.write_lines(lines)
            self._retry.succeeded()
        except StoreError as error:
            # Later, perhaps; the oldest of what does not fit beside newer lines is dropped.
            room = MOST_PENDING - len(self._pending)
            self._pending.extendleft(lines[: -room - 1 : -1])
            self._due = True
            self._soon(self._retry.failed(error))
        except Exception:
            LOG.exception("%d lines of run logs cannot be kept, and are dropped", len(lines))

    def _soon(self, seconds: float) -> None:
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(seconds, self._begin)

    def _begin(self) -> None:
        self._timer, self._due = None, False
        job = asyncio.ensure_future(self.flush())
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
