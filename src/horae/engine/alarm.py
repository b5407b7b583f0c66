"""Wake-up timer of the dispatcher, on timerfd: sleeps until the agenda's head is due, a notification, or the ceiling."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from ..clock import Clock

_CLOCK_BOOTTIME: Final = 7
"""CLOCK_BOOTTIME, which counts suspended time: a timer that expired meanwhile fires at once."""
_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0
_NANOSECONDS: Final = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


def _load_library() -> Any:
    """Return the C library if it has timerfd; else None."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "timerfd_create") else None


_LIBRARY: Final = _load_library()


@contextmanager
def timer(seconds: float, then: Callable[[], None], *, fine: bool = True) -> Iterator[None]:
    """Call `then` on the event loop after `seconds`, unless the context ends before; without `fine` by the loop's timer.

    Event loops round up to the millisecond, so `fine` uses timerfd where Linux has it.
    """
    loop = asyncio.get_running_loop()
    handle = _open_timer(seconds) if fine else None
    if handle is None:
        coarse = loop.call_later(seconds, then)
        try:
            yield
        finally:
            coarse.cancel()
        return
    try:
        loop.add_reader(handle, then)
        try:
            yield
        finally:
            loop.remove_reader(handle)
    finally:
        os.close(handle)


def _open_timer(seconds: float) -> int | None:
    """Return a timerfd that becomes readable after `seconds`; None where timerfd or file descriptors are not available."""
    if _LIBRARY is None:
        return None
    handle: int = _LIBRARY.timerfd_create(_CLOCK_BOOTTIME, _FLAGS)
    if handle < 0:
        return None
    # Zero would disarm the timer.
    nanoseconds = max(1, round(seconds * _NANOSECONDS))
    setting = _TimerSpec(_Timespec(0, 0), _Timespec(*divmod(nanoseconds, _NANOSECONDS)))
    if _LIBRARY.timerfd_settime(handle, 0, ctypes.byref(setting), None) < 0:
        os.close(handle)
        return None
    return handle


class WakeTimer:
    """Timer with one waiter, the dispatcher; all calls come from its event loop.

    Notifications only shorten the wait: correctness rests on the poll ceiling alone.
    """

    def __init__(self, clock: Clock, ceiling: timedelta, *, precise: bool = True, fine: bool = False) -> None:
        self._clock = clock
        self._ceiling = ceiling.total_seconds()
        self._precise = precise
        self._fine = fine
        self._head: datetime | None = None
        self._expected: datetime | None = None
        self._last_poll = clock.steady()
        self._notified = False
        self._waiter: asyncio.Future[None] | None = None

    def notify(self) -> None:
        """Wake the dispatcher, because an entry may be due earlier than known; ignored in poll mode."""
        if self._precise:
            self.wake()

    def wake(self) -> None:
        """Wake the dispatcher in either mode, because whatever kept it from claiming is over."""
        self._notified = True
        self._wake()

    def begin_poll(self) -> None:
        """Mark the beginning of a claim, which may not see entries that are announced from here on."""
        self._expected = None

    def end_poll(self, head: datetime | None) -> None:
        """Mark the end of a claim, with the head of the agenda as of some point since `begin_poll`."""
        self._last_poll = self._clock.steady()
        self._head = _earliest(head, self._expected)

    def observe_head(self, head: datetime | None) -> None:
        """Take the head of the agenda from a lease renewal: it counts as a poll, but may be older than announced entries."""
        if self._precise:
            self._last_poll = self._clock.steady()
            self.expect(head)

    def expect(self, due: datetime | None) -> None:
        """Announce an entry that will be due at an instant, possibly before the known head."""
        self._expected = _earliest(self._expected, due)
        if due is not None and (self._head is None or due < self._head):
            self._head = due
            self._wake()

    async def wait(self) -> None:
        """Sleep until the head is due, a notification comes, or the last look is older than the poll ceiling.

        Every wake-up reads the wall clock again: it may have stepped, the machine may have been suspended, and a loop's
        timer may fire a little early.
        """
        while not self._notified:
            seconds = self._seconds_left()
            if seconds <= 0:
                break
            await self._sleep(seconds)
        self._notified = False

    def _seconds_left(self) -> float:
        until_poll = self._ceiling - (self._clock.steady() - self._last_poll)
        if self._head is None or not self._precise:
            return until_poll
        return min(until_poll, (self._head - self._clock.now()).total_seconds())

    async def _sleep(self, seconds: float) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            with timer(seconds, self._wake, fine=self._fine):
                await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
