"""Copy of a SQLite file that creates and changes nothing next to the original, even while other processes use it."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

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
