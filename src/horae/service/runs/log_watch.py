"""Watch of run logs: one reader per process polls the last line of every followed run, and announces new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol, TypeAlias

from ...clock import Clock
from ...errors import StoreError
from ...model.run import Run
from ...store_retry import StoreRetry

POLL_SECONDS: Final = 0.2
"""Seconds between two polls: a log is announced at most five times per second, however many lines are written."""
MAX_BACKOFF_SECONDS: Final = 2.0


class LogState(NamedTuple):
    """Number of the last line of a run, and whether the run goes on."""

    last: int
    live: bool


OnChange: TypeAlias = Callable[[LogState], None]


class WatchedStore(Protocol):
    """What the watch reads."""

    async def last_line(self, run_id: str) -> int: ...

    async def run(self, run_id: str, owner: str | None) -> Run | None: ...


class LogWatch:
    """The watch of one process. It polls only while runs are followed; a run that has ended is not read again."""

    def __init__(self, store: WatchedStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._followers: dict[str, list[OnChange]] = {}
        self._states: dict[str, LogState] = {}
        self._waiting: set[asyncio.Event] = set()
        self._reader: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, run_id: str, on_change: OnChange) -> Iterator[None]:
        """Call `on_change` with the present state of the log and with each later one, while the context is open."""
        followers = self._followers.setdefault(run_id, [])
        followers.append(on_change)
        if run_id in self._states:
            on_change(self._states[run_id])
        if self._reader is None or self._reader.done():
            self._reader = asyncio.ensure_future(self._read_loop())
        try:
            yield
        finally:
            followers.remove(on_change)
            if not followers:
                self._followers.pop(run_id, None)
                self._states.pop(run_id, None)

    async def wait(self, run_id: str, after: int, seconds: float) -> None:
        """Wait until the run has a line after this number or has ended, at most so many seconds."""
        changed = asyncio.Event()

        def on_change(state: LogState) -> None:
            if state.last > after or not state.live:
                changed.set()

        self._waiting.add(changed)
        try:
            with self.follow(run_id, on_change):
                async with asyncio.timeout(seconds):
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(changed)

    def end_waits(self) -> None:
        """End every `wait` now: the process stops."""
        for each in self._waiting:
            each.set()

    async def _read_loop(self) -> None:
        retry = StoreRetry("reading of followed logs", self._clock, max_backoff=MAX_BACKOFF_SECONDS)
        while self._followers:
            try:
                for run_id in list(self._followers):
                    await self._read(run_id)
                retry.succeeded()
            except StoreError as error:
                await retry.wait(error)
            await self._clock.pause(POLL_SECONDS)

    async def _read(self, run_id: str) -> None:
        known = self._states.get(run_id)
        if known is not None and not known.live:
            return
        # The run is read first: a run that has ended has all its lines.
        run = await self._store.run(run_id, None)
        state = LogState(await self._store.last_line(run_id), run is not None and run.live)
        if state == known or run_id not in self._followers:
            return
        self._states[run_id] = state
        for on_change in list(self._followers[run_id]):
            on_change(state)
