"""Online backup of the file: a consistent snapshot, written to a temporary file and renamed when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from ...errors import StoreError, StoreFull
from .connection import SqliteConnection

_PAGES_AT_ONCE: Final = 1_000


def write_backup(path: str, source: SqliteConnection, progress: Callable[[int, int], None] | None = None) -> None:
    """Copy `source` to `path`; raises StoreError or StoreFull, and then leaves no file.

    `source` is in a read transaction, so all pages are of one instant; the writer is not blocked.
    """
    folder = Path(path).absolute().parent
    try:
        handle, temporary_path = tempfile.mkstemp(prefix=".horae-backup-", dir=folder)
        os.close(handle)
    except OSError as error:
        raise StoreError(f"The backup cannot be written to {folder}: {error}.") from error
    try:
        _copy_pages(temporary_path, source, progress)
        _make_durable(temporary_path)
        Path(temporary_path).replace(path)
        _make_durable(str(folder))
    except OSError as error:
        raise StoreError(f"The backup could not be written to {path}: {error}.") from error
    except apsw.FullError as error:
        raise StoreFull(f"There is no space left for a backup at {path}.") from error
    finally:
        for path_left in (
            temporary_path,
            f"{temporary_path}-journal",
            f"{temporary_path}-wal",
            f"{temporary_path}-shm",
        ):
            with suppress(FileNotFoundError):
                Path(path_left).unlink()


def _copy_pages(temporary_path: str, source: SqliteConnection, progress: Callable[[int, int], None] | None) -> None:
    # The snapshot of a deferred transaction is taken by its first read.
    source.query("SELECT count(*) FROM sqlite_schema")
    copy = apsw.Connection(temporary_path)
    try:
        # The complete copy is synced once, at the end.
        copy.execute("PRAGMA synchronous = OFF").fetchall()
        with copy.backup("main", source.raw, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_AT_ONCE)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)
    finally:
        copy.close()


def _make_durable(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_BUSY_MILLISECONDS = 10_000


def copy_file(path: str, to: str) -> None:
    """Copy the database at `path` to the new file `to`, as of one instant.

    A database with a write-ahead log but without shared memory is copied with its log, because SQLite would create the
    shared memory beside the original; one without a log has no open connection and is read as immutable.
    """
    source_path = Path(path).resolve(strict=True)
    wal, shm = (source_path.with_name(source_path.name + ending) for ending in ("-wal", "-shm"))
    if wal.exists() and not shm.exists():
        shutil.copyfile(source_path, to)
        shutil.copyfile(wal, f"{to}-wal")
        return
    mode = "mode=ro&readonly_shm=1" if wal.exists() else "mode=ro&immutable=1"
    source, copy = apsw.Connection(f"{source_path.as_uri()}?{mode}", flags=_READ_ONLY), apsw.Connection(to)
    try:
        source.set_busy_timeout(_BUSY_MILLISECONDS)
        with copy.backup("main", source, "main") as copying:
            copying.step()
    finally:
        copy.close()
        source.close()
