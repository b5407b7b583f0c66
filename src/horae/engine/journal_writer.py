"""Batched writer of run logs: lines are collected for a moment and committed together."""

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

BATCH_SECONDS: Final = 0.05
MAX_PENDING: Final = 20 * LOG_LINES
LOG: Final = logging.getLogger("horae")


class JournalWriter:
    """Accepts lines from any thread. Run logs are best effort: they never delay a settlement, and the buffer is bounded."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._retry = StoreRetry("writing of run logs", clock)
        self._pending: deque[Line] = deque(maxlen=MAX_PENDING)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def write(self, line: Line) -> None:
        self._pending.append(line)
        if not self._is_scheduled and self._loop is not None:
            self._is_scheduled = True
            # A thread may outlive the event loop of its node; its lines are then dropped.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._schedule_flush, BATCH_SECONDS)

    async def flush(self) -> None:
        """Write all lines so far to the journal; on a store error they are kept and retried later."""
        async with self._lock:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if lines:
                await self._write_batch(lines)

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._is_scheduled = None, False
        await self.flush()

    async def _write_batch(self, lines: list[Line]) -> None:
        try:
            await self._journal.write_lines(lines)
            self._retry.succeeded()
        except StoreError as error:
            # Retried later; the oldest lines that do not fit next to newer ones are dropped.
            free = MAX_PENDING - len(self._pending)
            self._pending.extendleft(lines[: -free - 1 : -1])
            self._is_scheduled = True
            self._schedule_flush(self._retry.failed(error))
        except Exception:
            LOG.exception("%d lines of run logs cannot be kept, and are dropped", len(lines))

    def _schedule_flush(self, seconds: float) -> None:
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(seconds, self._start_flush)

    def _start_flush(self) -> None:
        self._timer, self._is_scheduled = None, False
        job = asyncio.ensure_future(self.flush())
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
