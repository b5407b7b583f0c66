"""Watches the file of a SQLite store by device and inode: a file that was removed or replaced still takes writes, in vain."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from ..clock import Clock
from ..runtime import sqlite_path

CHECK_SECONDS: Final = 2.0
_Identity: TypeAlias = tuple[int, int]


class StoreFile:
    """File of a store that has just been opened. A store that is not a file can be neither removed nor replaced."""

    def __init__(self, url: str) -> None:
        path = sqlite_path(url)
        self.path: Final = None if path is None else Path(path).absolute()
        self._opened = None if self.path is None else _identity(self.path)
        self.is_lost = False

    async def wait_until_lost(self, clock: Clock) -> None:
        """Return when the path leads nowhere, or to another file; never for a store that is not a file."""
        while not self.is_lost:
            await clock.pause(CHECK_SECONDS)
            self.is_lost = self._has_changed()

    def _has_changed(self) -> bool:
        if self.path is None:
            return False
        try:
            return _identity(self.path) != self._opened
        except OSError:
            # Unknown for now, which is no proof that the file is gone.
            return False


async def stop_when_lost(
    file: StoreFile, clock: Clock, stop: Event, on_lost: Callable[[Path | None, datetime], None]
) -> None:
    """Report a lost file and stop the process: whatever it writes from now on is lost."""
    await file.wait_until_lost(clock)
    on_lost(file.path, clock.now())
    stop.set()


def _identity(path: Path) -> _Identity | None:
    """Return device and inode; None: there is no file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
