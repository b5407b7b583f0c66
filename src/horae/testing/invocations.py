"""An invocation without an engine: it remembers all that a target said, and can be ended as a run is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2b
from threading import Lock
from typing import Final, NamedTuple

from ..model.ids import occurrence_key
from ..model.run import Run
from ..model.task import Task
from .factories import a_run

_PATIENCE: Final = timedelta(seconds=30)


class Said(NamedTuple):
    level: str
    text: str


class RecordingInvocation:
    """An `Invocation`. `said` grows in the order in which things were said, from whichever thread."""

    def __init__(self, task: Task, run: Run | None = None) -> None:
        self.task = task
        self.run = a_run(task) if run is None else run
        self.deadline: datetime = (self.run.started or self.run.due) + task.policies.timeout
        self.cancelled = False
        self.yield_requested = False
        self.said: list[Said] = []
        self.beats = 0
        self._actions: list[Callable[[], None]] = []
        self._lock = Lock()
        self._wake: Callable[[], None] = _nobody_waits

    @property
    def key(self) -> str:
        return occurrence_key(self.task.id, self.run.origin, self.run.planned)

    @property
    def trace(self) -> str:
        span = blake2b(self.run.id.encode(), digest_size=8).hexdigest()
        return f"00-{self.key.removeprefix('occ_')}-{span}-01"

    def log(self, text: str, level: str = "info") -> None:
        with self._lock:
            self.said.append(Said(level, text))
        self._wake()

    def progress(self, done: float, text: str = "") -> None:
        self.heartbeat()
        self.log(f"{done:.4f} {text}".rstrip(), "progress")

    def heartbeat(self) -> None:
        with self._lock:
            self.beats += 1
            self.deadline += timedelta(seconds=1)
        self._wake()

    def on_cancel(self, action: Callable[[], None]) -> None:
        self._actions.append(action)
        if self.cancelled:
            action()

    def end(self) -> None:
        """Ask for the end, as an engine does before it cancels the coroutine; asking again asks again."""
        self.cancelled = True
        for action in tuple(self._actions):
            action()

    def texts(self, level: str | None = None) -> list[str]:
        """What was said on this level, or on any."""
        return [said.text for said in tuple(self.said) if level in (None, said.level)]

    async def sign_of_life(self, within: timedelta = _PATIENCE) -> None:
        """Until something was said, or a heartbeat given."""
        await self._until(lambda: bool(self.said) or self.beats > 0, "a sign of life", within)

    async def heard(self, wanted: str, within: timedelta = _PATIENCE) -> str:
        """The first text that holds what is wanted, as soon as it is said."""
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
            raise AssertionError(f"waited in vain for {what}; what was said: {self.said}") from None
        finally:
            self._wake = _nobody_waits


def _nobody_waits() -> None: ...


def _wake_up(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(woken.set)
