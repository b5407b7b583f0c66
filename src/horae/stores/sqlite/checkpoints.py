"""When the write-ahead log is carried over into the file: while nobody waits if possible, and before it grows too long."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from .link import Link

_WHEN_IDLE: Final = 1_000
"""Pages; about 4 MB."""
_EVEN_IF_BUSY: Final = 8_000
_AT_ALL_COSTS: Final = 16_000
"""About 64 MB: now it waits for readers, and the log starts afresh."""


class Checkpoints:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._pages = 0
        self._not_before = 0
        link.on_wal(self._told)

    def _told(self, pages: int) -> None:
        self._pages = pages
        if pages < self._not_before:
            # The log has started afresh: whoever was in the way is gone.
            self._not_before = min(self._not_before, pages)

    def after_group(self, *, idle: bool) -> None:
        if self._pages < max(_WHEN_IDLE if idle else _EVEN_IF_BUSY, self._not_before):
            return
        if self._pages >= _AT_ALL_COSTS:
            self._run(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        else:
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def last(self) -> None:
        self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _run(self, mode: int) -> None:
        """A failure here loses nothing: the log is still there, and the next attempt comes later."""
        self._not_before = self._pages + _WHEN_IDLE
        with suppress(apsw.Error):
            written, done = self._link.connection.wal_checkpoint(mode=mode)
            if written == done:
                self._pages = self._not_before = 0
