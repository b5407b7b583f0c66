"""System clock behind a protocol: the only file that reads the time or sleeps, so that tests can replace it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Final, Protocol

# Linux can count the time that a machine was suspended; elsewhere the plain monotonic clock is the best there is.
_BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", None)


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current instant in UTC. It may step in both directions."""

    def steady(self) -> float:
        """Return monotonic seconds since an arbitrary point: never steps, and counts suspended time where the OS can."""

    def sleep(self, seconds: float) -> None:
        """Block the thread; used by the command line, never by the engine."""

    async def pause(self, seconds: float) -> None:
        """Suspend the calling coroutine; other coroutines run meanwhile."""


class SystemClock:
    """Clock of the operating system."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def steady(self) -> float:
        return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)  # noqa: TID251 - this is the one place

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - this is the one place

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - this is the one place
