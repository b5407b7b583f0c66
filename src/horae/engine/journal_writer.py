"""Batched writer of run logs: lines are collected for a moment and committed together, within the bounds of each run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..model.limits import LOG_BYTES, LOG_LINES
from ..ports.journal import Journal, Line
from ..store_retry import StoreRetry

BATCH_SECONDS: Final = 0.05
MAX_BATCH: Final = 1_000
"""Lines per transaction: a larger one would delay claims and settlements on SQLite."""
MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
LINE_OVERHEAD: Final = 200
"""Bytes of memory that a pending line takes besides its text."""
LOG: Final = logging.getLogger("horae")


class RunLogUsage:
    """Lines and bytes that a run has logged so far."""

    __slots__ = ("bytes", "is_full", "lines")

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = 0
        self.is_full = False


class JournalWriter:
    """Accepts lines from any thread. Run logs are best effort: they never delay a settlement, and the buffer is bounded.

    Of each run the first lines are kept, up to `LOG_LINES` and `run_bytes`; the last line then says that there were more.
    """

    def __init__(self, journal: Journal, clock: Clock, run_bytes: int = LOG_BYTES) -> None:
        self._journal = journal
        self._retry = StoreRetry("writing of run logs", clock)
        self._run_bytes = run_bytes
        self._pending: deque[Line] = deque()
        self._pending_bytes = 0
        self._buffer_lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def write(self, line: Line, usage: RunLogUsage) -> None:
        """Add a line to the buffer, unless the log of its run is full."""
        with self._buffer_lock:
            kept = self._limit(line, usage)
            if kept is None:
                return
            self._pending.append(kept)
            self._pending_bytes += _size(kept)
            self._drop_oldest()
        if not self._is_scheduled and self._loop is not None:
            self._is_scheduled = True
            # A thread may outlive the event loop of its node; its lines are then dropped.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._schedule_flush, BATCH_SECONDS)

    async def flush(self) -> None:
        """Write all lines so far to the journal; on a store error they are kept and retried later."""
        async with self._lock:
            remaining = len(self._pending)
            while remaining > 0:
                lines = self._take(min(remaining, MAX_BATCH))
                remaining -= MAX_BATCH
                if lines and not await self._write_batch(lines):
                    return

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._is_scheduled = None, False
        await self.flush()

    def _limit(self, line: Line, usage: RunLogUsage) -> Line | None:
        """Count the line; return it, the notice that the log is full, or None after that notice."""
        usage.lines += 1
        if usage.is_full:
            return None
        usage.bytes += _text_bytes(line.text)
        if usage.bytes > self._run_bytes:
            usage.is_full = True
            return line._replace(level="warning", text=_full_notice(self._run_bytes))
        # One line above the limit is sent: the journal replaces it by its notice.
        usage.is_full = usage.lines > LOG_LINES
        return line

    def _take(self, number: int) -> list[Line]:
        with self._buffer_lock:
            lines = [self._pending.popleft() for _ in range(min(number, len(self._pending)))]
            self._pending_bytes -= sum(map(_size, lines))
        return lines

    def _drop_oldest(self) -> None:
        while self._pending_bytes > MAX_PENDING_BYTES:
            self._pending_bytes -= _size(self._pending.popleft())

    async def _write_batch(self, lines: list[Line]) -> bool:
        """Write the lines; return whether the store accepted or refused them for good."""
        try:
            await self._journal.write_lines(lines)
            self._retry.succeeded()
        except StoreError as error:
            # Retried later; the oldest lines that do not fit next to newer ones are dropped.
            with self._buffer_lock:
                self._pending.extendleft(reversed(lines))
                self._pending_bytes += sum(map(_size, lines))
                self._drop_oldest()
            self._is_scheduled = True
            self._schedule_flush(self._retry.failed(error))
            return False
        except Exception:
            LOG.exception("%d lines of run logs cannot be kept, and are dropped", len(lines))
        return True

    def _schedule_flush(self, seconds: float) -> None:
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(seconds, self._start_flush)

    def _start_flush(self) -> None:
        self._timer, self._is_scheduled = None, False
        job = asyncio.ensure_future(self.flush())
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)


def _size(line: Line) -> int:
    return len(line.text) + LINE_OVERHEAD


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _full_notice(run_bytes: int) -> str:
    return f"More was said; only the first {run_bytes:,} bytes of a run's log are kept."
