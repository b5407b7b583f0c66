"""The only file that reads the time or sleeps."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """This instant, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Block for so long; used by the command line, never by pure code."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - this is the one place
