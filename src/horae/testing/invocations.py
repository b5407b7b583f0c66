"""Invocation without an engine: records log lines and heartbeats of a target, and can cancel it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2b
from threading import Lock
from typing import Final, NamedTuple

from ..engine.run_messages import RunMessages as EngineMessages
from ..engine.run_records import RunRecords as EngineRecords
from ..model.ids import occurrence_key
from ..model.lanes.idle import YieldReason
from ..model.run import Run
from ..model.task import Task
from ..ports.target import RunMessages, RunRecords
from ..stores.memory import MemoryStore
from .factories import a_run

_PATIENCE: Final = timedelta(seconds=30)


class LogLine(NamedTuple):
    level: str
    text: str


class RecordingInvocation:
    """An `Invocation`. `lines` holds the log lines of all threads, in order."""

    def __init__(self, task: Task, run: Run | None = None) -> None:
        self.task = task
        self.run = a_run(task) if run is None else run
        self.deadline: datetime = (self.run.started or self.run.due) + task.policies.timeout
        self.previous = "[]"
        self.gate = "null"
        self.gate_state: str | None = None
        self.cancelled = False
        self.yield_requested = False
        self.yield_reason: YieldReason | None = None
        self.is_idle = False
        self.lines: list[LogLine] = []
        self.heartbeats = 0
        self._actions: list[Callable[[], None]] = []
        self._lock = Lock()
        self._wake: Callable[[], None] = _ignore_wake
        store = MemoryStore()
        messages = EngineMessages(store, self, lambda: self.run.due)
        self.messages: RunMessages = messages
        self.records: RunRecords = EngineRecords(store, self, messages.staged)

    @property
    def key(self) -> str:
        return occurrence_key(self.task.id, self.run.origin, self.run.planned)

    @property
    def trace(self) -> str:
        span = blake2b(self.run.id.encode(), digest_size=8).hexdigest()
        return f"00-{self.key.removeprefix('occ_')}-{span}-01"

    def log(self, text: str, level: str = "info") -> None:
        with self._lock:
            self.lines.append(LogLine(level, text))
        self._wake()

    def progress(self, done: float, text: str = "") -> None:
        self.heartbeat()
        self.log(f"{done:.4f} {text}".rstrip(), "progress")

    def heartbeat(self) -> None:
        with self._lock:
            self.heartbeats += 1
            self.deadline += timedelta(seconds=1)
        self._wake()

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        self.is_idle = idle
        self._wake()

    def on_cancel(self, action: Callable[[], None]) -> None:
        self._actions.append(action)
        if self.cancelled:
            action()

    def end(self) -> None:
        """Call the cancel actions, as an engine does before it cancels the coroutine; each call repeats them."""
        self.cancelled = True
        for action in tuple(self._actions):
            action()

    def texts(self, level: str | None = None) -> list[str]:
        """Texts of the lines of this level, or of all levels."""
        return [line.text for line in tuple(self.lines) if level in (None, line.level)]

    async def wait_for_activity(self, within: timedelta = _PATIENCE) -> None:
        """Wait for the first log line or heartbeat."""
        await self._until(lambda: bool(self.lines) or self.heartbeats > 0, "log line or heartbeat", within)

    async def wait_for_text(self, wanted: str, within: timedelta = _PATIENCE) -> str:
        """Wait for a line that contains `wanted` and return its text."""
        await self._until(lambda: any(wanted in text for text in self.texts()), repr(wanted), within)
        return next(text for text in self.texts() if wanted in text)

    async def _until(self, happened: Callable[[], bool], what: str, within: timedelta) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: _wake_up(loop, woken)
        try:
            async with asyncio.timeout(within.total_seconds()):
                while not happened():
                    woken.clear()
                    if not happened():
                        await woken.wait()
        except TimeoutError:
            raise AssertionError(f"no {what} in time; lines: {self.lines}") from None
        finally:
            self._wake = _ignore_wake


def _ignore_wake() -> None: ...


def _wake_up(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(woken.set)
