"""The only file that reads the time or sleeps."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Final, Protocol

# Linux can count the time that a machine was suspended; elsewhere the plain monotonic clock is the best there is.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", None)


class Clock(Protocol):
    def now(self) -> datetime:
        """This instant, in UTC. It may step, in both directions."""

    def steady(self) -> float:
        """Seconds from some point on: never steps, and goes on while the machine is suspended where that is possible."""

    def sleep(self, seconds: float) -> None:
        """Block for so long; used by the command line, never by the engine."""

    async def pause(self, seconds: float) -> None:
        """Let others run for so long."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def steady(self) -> float:
        return time.monotonic() if _STEADY is None else time.clock_gettime(_STEADY)  # noqa: TID251 - this is the one place

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - this is the one place

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # noqa: TID251 - this is the one place
