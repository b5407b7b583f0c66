"""Virtual time: an asyncio event loop whose clock jumps to the next timer instead of waiting."""

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
"""In microseconds: tolerance for float errors in timers."""
PATIENCE_SECONDS: Final = 10.0
"""Real seconds to wait for threads and processes; then virtual time goes on, since they may wait for it."""

MOST_READINGS: Final = 2_000_000
"""Clock readings within one virtual microsecond that count as an endless loop."""


class DeadlockError(RuntimeError):
    """Nothing is ready and no timer is set: the loop would wait for ever."""

    def __init__(self, at: datetime) -> None:
        super().__init__(f"Nothing is ready and no timer is set at {at.isoformat()}: what is awaited can never happen.")


class LivelockError(BaseException):
    """A callback is always ready, so no time passes: in real time this would be a busy loop.

    Not an `Exception`, because the looping code may catch every `Exception`.
    """

    def __init__(self, at: datetime) -> None:
        super().__init__(f"Something is always ready at {at.isoformat()}, and no time passes any more.")


class VirtualClock:
    """A `Clock` that its loop advances, in whole microseconds."""

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
        """Advance the clock and return at once."""
        self.advance(seconds)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - the loop's time is this clock's

    def step(self, delta: timedelta) -> None:
        """Step the wall clock in either direction; the steady clock is unaffected."""
        self._stepped += delta

    def tick_for(self, steady: float) -> float:
        """Round a steady time up to a whole microsecond after now; a time in the past is returned unchanged."""
        if steady <= self._steady:
            return steady
        return max(self._elapsed + 1, ceil(steady * _MICROSECONDS - _ROUNDING)) / _MICROSECONDS

    def advance(self, seconds: float) -> None:
        """Advance the clock. On a `VirtualLoop`, only the loop calls this."""
        self._elapsed += max(0, round(seconds * _MICROSECONDS))
        self._steady = self._elapsed / _MICROSECONDS
        self._readings = 0


class VirtualLoop(asyncio.SelectorEventLoop):
    """Deterministic unless threads, processes or sockets are awaited; those take no virtual time (see `outside`)."""

    def __init__(self, clock: VirtualClock) -> None:
        self._jumping_selector = _JumpingSelector(clock, self.stop)
        super().__init__(self._jumping_selector)
        self.clock = clock
        # Timers are floats and the clock counts microseconds: without this a timer might never be reached.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        return self.clock.steady()

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Timers fire on whole microseconds, never in the current one: a wait must see time pass."""
        return super().call_at(self.clock.tick_for(when), callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """A positive delay is at least a microsecond, even if adding it to the float changes nothing."""
        when = self.time() + (max(delay, _SHORTEST) if delay > 0 else delay)
        return self.call_at(when, callback, *args, context=context)

    def travel(self, delta: timedelta) -> None:
        """Run the loop until `delta` has passed, including timers due at that instant."""
        self._jumping_selector.limit = self.time() + delta.total_seconds()
        try:
            self.run_forever()
        finally:
            self._jumping_selector.limit = None

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Stop virtual time in this block, while a thread or process works."""
        self._jumping_selector.outside += 1
        try:
            yield
        finally:
            self._jumping_selector.outside -= 1

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[_Ts]], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        future = super().run_in_executor(executor, func, *args)
        self._jumping_selector.outside += 1
        future.add_done_callback(self._answered)
        return future

    async def shutdown_default_executor(self) -> None:
        with self.outside():
            await super().shutdown_default_executor()

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._jumping_selector.outside -= 1


class _JumpingSelector(selectors.DefaultSelector):
    """Selector that advances the clock where an event loop would wait."""

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
        """Whether real input or output is awaited: the loop itself registers one descriptor, its wake-up socket."""
        return self.outside > 0 or self._connections > 1

    def _patience(self, timeout: float | None) -> float:
        """Real seconds to wait: for registered outside work, or for an unregistered thread if nothing else is left."""
        may_answer = self.outside > 0 or (timeout is None and self.limit is None and threading.active_count() > 1)
        return PATIENCE_SECONDS if may_answer else 0

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
