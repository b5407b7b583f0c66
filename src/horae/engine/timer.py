"""Precise timer: timerfd on Linux, since event loops round up to the millisecond; the loop's own timer elsewhere."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

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
    """Call `then` on the event loop after `seconds`, unless the context ends before; without `fine` by the loop's timer."""
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
