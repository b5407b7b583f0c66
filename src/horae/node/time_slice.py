"""Short time slice of the worker: a thread that wakes at a due instant runs at once, not after the slice of another process.

Linux 6.12 and later let a thread choose its slice, and the thread with the shorter one preempts; its share of the processor
stays the same. Other systems and older kernels ignore or refuse the request.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from typing import Final

_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""Number of the system call by machine: the C library has no function for it."""
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")
"""`struct sched_attr`: size, policy, flags, nice, priority, runtime (the slice), deadline, period."""
_SLICE_NANOSECONDS: Final = 200_000


def request_short_slice() -> bool:
    """Request a short time slice for this thread and those that it starts; return whether the kernel accepted it.

    A worker that an operator runs under another scheduling policy (`chrt`) keeps that one.
    """
    if sys.platform != "linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None:
        return False
    attributes = _ATTRIBUTES.pack(
        _ATTRIBUTES.size, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, _SLICE_NANOSECONDS, 0, 0
    )
    return bool(ctypes.CDLL(None).syscall(number, 0, attributes, 0) == 0)
