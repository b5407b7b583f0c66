"""A timer that fires when it should: where Linux has one for files, since an event loop rounds up to the millisecond."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

_BOOT_TIME: Final = 7
"""The clock that goes on while the machine is suspended: what came due meanwhile is due at once."""
_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0
_NANOSECONDS: Final = 1_000_000_000


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Time), ("value", _Time))


def _system() -> Any:
    """The C library, if it has timers for files."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "timerfd_create") else None


_SYSTEM: Final = _system()


@contextmanager
def timer(seconds: float, then: Callable[[], None], *, fine: bool = True) -> Iterator[None]:
    """While this lasts: `then` is called on the event loop after so many seconds. Not `fine`, it is the loop's own."""
    loop = asyncio.get_running_loop()
    handle = _opened(seconds) if fine else None
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


def _opened(seconds: float) -> int | None:
    """A file that can be read after so many seconds; None where there are none of that kind, or no more of any."""
    if _SYSTEM is None:
        return None
    handle: int = _SYSTEM.timerfd_create(_BOOT_TIME, _FLAGS)
    if handle < 0:
        return None
    # Zero would mean never.
    nanoseconds = max(1, round(seconds * _NANOSECONDS))
    setting = _Setting(_Time(0, 0), _Time(*divmod(nanoseconds, _NANOSECONDS)))
    if _SYSTEM.timerfd_settime(handle, 0, ctypes.byref(setting), None) < 0:
        os.close(handle)
        return None
    return handle
