"""Virtual time: an event loop that never waits, because its clock jumps to the next timer when nothing else is left to do."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context
from datetime import datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple, Unpack

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
_MICROSECONDS: Final = 1_000_000
_SHORTEST: Final = 1 / _MICROSECONDS
_RESOLUTION: Final = _SHORTEST / 2
_ROUNDING: Final = 0.1
"""In microseconds: what float arithmetic adds to a timer is not meant."""
PATIENCE_SECONDS: Final = 10.0
"""Real seconds: after so long, time goes on without what works outside, for it may wait for just that."""

MOST_READINGS: Final = 2_000_000
"""Whoever reads the clock so often within one microsecond is taken to be in an endless loop."""


class DeadlockError(RuntimeError):
    """Nothing is ready and no timer is set: whoever waits would wait for ever."""

    def __init__(self, at: datetime) -> None:
        super().__init__(f"Nothing is ready and no timer is set at {at.isoformat()}: what is awaited can never happen.")


class LivelockError(BaseException):
    """Something is always ready, and so no time passes: on a real machine this would be a processor at full load.

    Whatever goes round in circles may well catch every `Exception`, so this is none.
    """

    def __init__(self, at: datetime) -> None:
        super().__init__(f"Something is always ready at {at.isoformat()}, and no time passes any more.")


class VirtualClock:
    """A `Clock` that moves only when it is told to, by its loop. Whole microseconds, so that no instant is ever missed."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._elapsed = 0
        self._steady = 0.0
        self._readings = 0
        self._stepped = timedelta()

    def now(self) -> datetime:
        return self._start + timedelta(microseconds=self._elapsed) + self._stepped

    def steady(self) -> float:
        self._readings += 1
        if self._readings > MOST_READINGS:
            self._readings = 0
            raise LivelockError(self.now())
        return self._steady

    def sleep(self, seconds: float) -> None:
        """Blocks nobody: the time has passed when it returns."""
        self.advance(seconds)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - the loop's time is this clock's

    def step(self, delta: timedelta) -> None:
        """Somebody sets the wall clock, in either direction; the steady one does not notice."""
        self._stepped += delta

    def tick_for(self, steady: float) -> float:
        """The whole microsecond at which that point of the steady clock is reached, if it lies ahead."""
        if steady <= self._steady:
            return steady
        return max(self._elapsed + 1, ceil(steady * _MICROSECONDS - _ROUNDING)) / _MICROSECONDS

    def advance(self, seconds: float) -> None:
        """Time passes. On a `VirtualLoop` this is the loop's business."""
        self._elapsed += max(0, round(seconds * _MICROSECONDS))
        self._steady = self._elapsed / _MICROSECONDS
        self._readings = 0


class VirtualLoop(asyncio.SelectorEventLoop):
    """Deterministic as long as nothing from outside is awaited; what is, takes no virtual time (see `outside`)."""

    def __init__(self, clock: VirtualClock) -> None:
        self._selection = _Selection(clock, self.stop)
        super().__init__(self._selection)
        self.clock = clock
        # A timer is a float and the clock counts microseconds: without this one could stay ahead of the other for ever.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        return self.clock.steady()

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Timers go off on whole microseconds, and never in the one that is now: whoever waits must see time pass."""
        return super().call_at(self.clock.tick_for(when), callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """A delay may be so short that adding it to the time changes nothing; it still is one."""
        when = self.time() + (max(delay, _SHORTEST) if delay > 0 else delay)
        return self.call_at(when, callback, *args, context=context)

    def travel(self, delta: timedelta) -> None:
        """Run everything until so much time has passed, what is due at that very instant included."""
        self._selection.limit = self.time() + delta.total_seconds()
        try:
            self.run_forever()
        finally:
            self._selection.limit = None

    @contextmanager
    def outside(self) -> Iterator[None]:
        """While this is open a thread or a process is at work, and time stands still until it has answered."""
        self._selection.outside += 1
        try:
            yield
        finally:
            self._selection.outside -= 1

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[_Ts]], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        future = super().run_in_executor(executor, func, *args)
        self._selection.outside += 1
        future.add_done_callback(self._answered)
        return future

    async def shutdown_default_executor(self) -> None:
        with self.outside():
            await super().shutdown_default_executor()

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._selection.outside -= 1


class _Selection(selectors.DefaultSelector):
    """Where an event loop would wait, the clock jumps."""

    def __init__(self, clock: VirtualClock, stop: Callable[[], None]) -> None:
        super().__init__()
        self.outside = 0
        self._connections = 0
        self.limit: float | None = None
        self._clock = clock
        self._stop = stop

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        self._connections += 1
        return super().register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        self._connections -= 1
        return super().unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(0) if self._connected else []
        if self.outside or timeout is None or self._connected:
            answered = super().select(self._patience(timeout))
            if answered:
                return answered
        self._jump(timeout)
        return []

    @property
    def _connected(self) -> bool:
        """The loop itself has one connection, to be woken by other threads; more are somebody's real input or output."""
        return self.outside > 0 or self._connections > 1

    def _patience(self, timeout: float | None) -> float:
        """A thread that nobody has told of may still answer, when all else is silent."""
        somebody = self.outside > 0 or (timeout is None and self.limit is None and threading.active_count() > 1)
        return PATIENCE_SECONDS if somebody else 0

    def _jump(self, timeout: float | None) -> None:
        steady = self._clock.steady()
        if self.limit is not None and (timeout is None or steady + timeout > self.limit + _RESOLUTION):
            self._clock.advance(self.limit - steady)
            self._stop()
        elif timeout is None:
            raise DeadlockError(self._clock.now())
        else:
            self._clock.advance(timeout)


def run_virtual(work: Coroutine[Any, Any, _T], clock: VirtualClock) -> _T:
    """Like `asyncio.run`, on a loop whose time is the clock's."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(work)
