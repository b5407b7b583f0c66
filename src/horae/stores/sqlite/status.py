"""Status of a store file for operators: library versions, schema version, journal mode and size. Read-only."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import apsw

from ...errors import StoreDamaged, StoreUnavailable
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


OLDEST_APSW: Final = "3.52"
"""First version with all functions in use, such as `carray`; pyproject.toml requires the same."""
OLDEST_SQLITE: Final = "3.51.3"
"""Earlier versions can corrupt a write-ahead log that several processes share."""


def require_supported_version() -> None:
    for name, installed, oldest in (
        ("apsw", apsw.apswversion(), OLDEST_APSW),
        ("SQLite", apsw.sqlite_lib_version(), OLDEST_SQLITE),
    ):
        if _parse_version(installed) < _parse_version(oldest):
            raise StoreUnavailable(
                f"{name} {installed} is too old for this store, which needs {oldest} or newer: "
                f"pip install --upgrade 'apsw>={OLDEST_APSW}'."
            )


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
