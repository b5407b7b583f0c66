"""A copy of a SQLite file that leaves every byte beside the original as it is, whoever has it open."""

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
    place = Path(path).resolve(strict=True)
    log, shared = (place.with_name(place.name + ending) for ending in ("-wal", "-shm"))
    if log.exists() and not shared.exists():
        shutil.copyfile(place, to)
        shutil.copyfile(log, f"{to}-wal")
        return
    how = "mode=ro&readonly_shm=1" if log.exists() else "mode=ro&immutable=1"
    source, copy = apsw.Connection(f"{place.as_uri()}?{how}", flags=_READ_ONLY), apsw.Connection(to)
    try:
        source.set_busy_timeout(_BUSY_MILLISECONDS)
        with copy.backup("main", source, "main") as going:
            going.step()
    finally:
        copy.close()
        source.close()
