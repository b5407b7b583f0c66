"""Whether the path of a store still leads to the file that was opened: a file that was removed goes on taking writes."""

from __future__ import annotations

from asyncio import Event
from pathlib import Path
from typing import Final, TypeAlias

from ...clock import Clock
from ...runtime import sqlite_path
from ...wire.instants import utc
from ..messages import operating_messages as words
from ..output.printer import Printer
from ..output.styled_text import StyledText

LOOK_EVERY_SECONDS: Final = 2.0
_Identity: TypeAlias = tuple[int, int]


class SameFile:
    """Made when the store has just been opened. A store that is no file can neither be removed nor be replaced."""

    def __init__(self, url: str) -> None:
        path = sqlite_path(url)
        self.path: Final = None if path is None else Path(path).absolute()
        self._opened = None if self.path is None else _identity(self.path)
        self.lost = False

    async def until_lost(self, clock: Clock) -> None:
        """Returns when the path leads nowhere, or to another file; for a store that is no file, never."""
        while not self.lost:
            await clock.pause(LOOK_EVERY_SECONDS)
            self.lost = self._is_lost()

    def _is_lost(self) -> bool:
        if self.path is None:
            return False
        try:
            return _identity(self.path) != self._opened
        except OSError:
            # It cannot be told now, which is no proof that the file is gone.
            return False


async def stop_when_lost(out: Printer, clock: Clock, file: SameFile, stop: Event) -> None:
    """What is written to a file that nobody can find any more is lost: it is said at once, and it ends."""
    await file.until_lost(clock)
    if out.json:
        out.each({"type": "store.lost", "at": utc(clock.now()), "path": str(file.path)})
    else:
        out.line((StyledText("✕ ", "bad"), out.translate(words.STORE_LOST, path=file.path)), flush=True)
    stop.set()


def _identity(path: Path) -> _Identity | None:
    """Which file it is, whatever it is called; None: there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
