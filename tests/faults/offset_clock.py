"""System clock with offsets in a shared file, which a test can change while a process runs."""

from __future__ import annotations

import mmap
import struct
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from horae.clock import SystemClock

_OFFSETS: Final = struct.Struct("<qq")
"""Microseconds added to the wall clock and to the steady clock."""


class OffsetClock(SystemClock):
    """Offsets change the readings only: sleeps and timers take as long as on the real clock."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._shared = mmap.mmap(file.fileno(), _OFFSETS.size, access=mmap.ACCESS_READ)

    def now(self) -> datetime:
        return super().now() + timedelta(microseconds=_OFFSETS.unpack_from(self._shared)[0])

    def steady(self) -> float:
        microseconds: int = _OFFSETS.unpack_from(self._shared)[1]
        return super().steady() + microseconds / 1e6


def set_offsets(path: Path, wall: timedelta, steady: timedelta = timedelta(0)) -> None:
    """Write the offsets in place, so that processes with the file mapped see them at once."""
    numbers = _OFFSETS.pack(*(offset // timedelta(microseconds=1) for offset in (wall, steady)))
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(numbers)
