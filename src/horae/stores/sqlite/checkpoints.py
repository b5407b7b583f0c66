"""Checkpoint policy of the write-ahead log: when the writer is idle if possible, and always before it grows too long."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from .connection import SqliteConnection

_IDLE_PAGES: Final = 256
"""Pages (about 1 MB, a few milliseconds) at which an idle writer runs a checkpoint."""
_IDLE_SECONDS: Final = 0.004
_GROUP_PAGES: Final = 1_000
"""Pages (about 4 MB, ten milliseconds) at which it runs between two groups. The log is not truncated: overwriting it is
faster than growing the file again."""
_BUSY_PAGES: Final = 4_000
"""Pages (about 16 MB) at which it runs even if urgent requests are waiting."""
_TRUNCATE_PAGES: Final = 16_000
"""Pages (about 64 MB) at which it waits briefly for readers and truncates the log."""
_READER_WAIT_SECONDS: Final = 0.05


class Checkpointer:
    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._pages = 0
        self._retry_at = 0
        connection.on_wal(self._update_size)

    @property
    def idle_timeout(self) -> float | None:
        """Seconds that the writer waits for a request before it runs a checkpoint; None if none is needed."""
        return _IDLE_SECONDS if self._pages >= max(_IDLE_PAGES, self._retry_at) else None

    def run_when_idle(self) -> None:
        if self.idle_timeout is not None:
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def run_after_group(self, *, has_waiting: bool) -> None:
        """Run a checkpoint between two groups; with waiting requests only if it cannot be postponed."""
        if self._pages >= max(_TRUNCATE_PAGES, self._retry_at):
            self._run(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        elif self._pages >= max(_BUSY_PAGES if has_waiting else _GROUP_PAGES, self._retry_at):
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def run_final(self) -> None:
        self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _update_size(self, pages: int) -> None:
        if pages < self._pages:
            # The log was restarted: the reader that blocked the last checkpoint has finished.
            self._retry_at = 0
        self._pages = pages

    def _run(self, mode: int) -> None:
        """Run a checkpoint. A failure loses nothing: the log is kept, and a later attempt follows."""
        self._retry_at = self._pages + (_IDLE_PAGES if mode == apsw.SQLITE_CHECKPOINT_PASSIVE else _BUSY_PAGES)
        with suppress(apsw.Error), self._connection.busy_timeout(_READER_WAIT_SECONDS):
            written, done = self._connection.raw.wal_checkpoint(mode=mode)
            if written == done:
                self._pages = self._retry_at = 0
