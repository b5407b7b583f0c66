"""When the write-ahead log is carried over into the file: while nobody waits if possible, and before it grows too long."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from .connection import Link

_WHEN_IDLE: Final = 256
"""Pages: about 1 MB, a few milliseconds."""
_IDLE_SECONDS: Final = 0.004
_BETWEEN_GROUPS: Final = 1_000
"""About 4 MB, ten milliseconds. The log is not cut: to write over what is there is faster than to let a file grow."""
_EVEN_IF_WAITED_FOR: Final = 4_000
"""About 16 MB: longer than this it is not put off for somebody who waits."""
_AT_ALL_COSTS: Final = 16_000
"""About 64 MB: now it waits for readers, though not long, and the file is cut."""
_SECONDS_FOR_READERS: Final = 0.05


class Checkpoints:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._pages = 0
        self._not_before = 0
        link.on_wal(self._told)

    @property
    def patience(self) -> float | None:
        """How long the writer waits for a request before it uses the time; None when there is nothing to do."""
        return _IDLE_SECONDS if self._pages >= max(_WHEN_IDLE, self._not_before) else None

    def when_idle(self) -> None:
        if self.patience is not None:
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def after_group(self, *, waited_for: bool) -> None:
        """Between two groups; if somebody waits for the next one, only when it cannot be put off."""
        if self._pages >= max(_AT_ALL_COSTS, self._not_before):
            self._run(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        elif self._pages >= max(_EVEN_IF_WAITED_FOR if waited_for else _BETWEEN_GROUPS, self._not_before):
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def last(self) -> None:
        self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _told(self, pages: int) -> None:
        if pages < self._pages:
            # The log has started afresh: whoever was in the way is gone.
            self._not_before = 0
        self._pages = pages

    def _run(self, mode: int) -> None:
        """A failure here loses nothing: the log is still there, and the next attempt comes later."""
        self._not_before = self._pages + (_WHEN_IDLE if mode == apsw.SQLITE_CHECKPOINT_PASSIVE else _EVEN_IF_WAITED_FOR)
        with suppress(apsw.Error), self._link.impatient(_SECONDS_FOR_READERS):
            written, done = self._link.connection.wal_checkpoint(mode=mode)
            if written == done:
                self._pages = self._not_before = 0
