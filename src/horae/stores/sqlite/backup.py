"""A copy of the file while work goes on: of one instant, and either complete or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from ...errors import StoreError, StoreFull
from .connection import Link

_PAGES_AT_ONCE: Final = 1_000


def copy_to(path: str, source: Link, progress: Callable[[int, int], None] | None = None) -> None:
    """`source` is inside a transaction, so all pages are of one instant; the writer goes on beside it."""
    folder = Path(path).absolute().parent
    try:
        handle, draft = tempfile.mkstemp(prefix=".horae-backup-", dir=folder)
        os.close(handle)
    except OSError as error:
        raise StoreError(f"The backup cannot be written to {folder}: {error}.") from error
    try:
        _copy_pages(draft, source, progress)
        _make_durable(draft)
        Path(draft).replace(path)
        _make_durable(str(folder))
    except OSError as error:
        raise StoreError(f"The backup could not be written to {path}: {error}.") from error
    except apsw.FullError as error:
        raise StoreFull(f"There is no space left for a backup at {path}.") from error
    finally:
        for leftover in (draft, f"{draft}-journal", f"{draft}-wal", f"{draft}-shm"):
            with suppress(FileNotFoundError):
                Path(leftover).unlink()


def _copy_pages(draft: str, source: Link, progress: Callable[[int, int], None] | None) -> None:
    # Only a read makes the transaction's instant stand still.
    source.query("SELECT count(*) FROM sqlite_schema")
    copy = apsw.Connection(draft)
    try:
        # The copy is made durable as a whole, when it is complete.
        copy.execute("PRAGMA synchronous = OFF").fetchall()
        with copy.backup("main", source.connection, "main") as going:
            while not going.done:
                going.step(_PAGES_AT_ONCE)
                if progress is not None:
                    progress(going.page_count - going.remaining, going.page_count)
    finally:
        copy.close()


def _make_durable(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
