"""Status of a store file for operators: library versions, schema version, journal mode and size. Read-only."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import apsw

from ...errors import StoreDamaged
from .connection import SqliteConnection
from .migrate import APPLICATION_ID, migrations


class FileStatus(NamedTuple):
    sqlite: str
    apsw: str
    schema: int
    latest_schema: int
    """Latest schema version of this Horae."""
    journal: str
    size: int
    """Bytes, including the write-ahead log."""


def library_versions() -> tuple[str, str]:
    return apsw.sqlite_lib_version(), apsw.apswversion()


def read_status(path: str) -> FileStatus:
    try:
        # A writable connection, although nothing is written: only such a one removes the log when it closes last.
        connection = SqliteConnection(path, cache_kilobytes=256)
        try:
            application_id = connection.query("PRAGMA application_id")[0][0]
            schema = connection.query("PRAGMA user_version")[0][0]
            journal = connection.query("PRAGMA journal_mode")[0][0]
        finally:
            connection.close()
    except apsw.Error as error:
        raise StoreDamaged(f"The file is not a store of Horae: {error}.") from error
    if application_id != APPLICATION_ID:
        raise StoreDamaged("The file is a database of another program, or of none.")
    sqlite, apsw_version = library_versions()
    return FileStatus(sqlite, apsw_version, schema, migrations()[-1][0], journal, _total_size(path))


def _total_size(path: str) -> int:
    files = (Path(path), Path(f"{path}-wal"))
    return sum(each.stat().st_size for each in files if each.exists())
