"""Read-only access to a foreign SQLite file: one snapshot, nothing written, also while another program uses the file."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from .refusals import refuse

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_WAL_MODE: Final = 2
_BUSY_TIMEOUT: Final = 1.0
"""Busy timeout in seconds: longer than any write of a healthy program."""
_STEPS_PER_CALLBACK: Final = 10_000
_MAX_CALLBACKS: Final = 20_000
"""Progress callbacks of `_STEPS` steps each before the read is interrupted; a real database needs far fewer."""
_MAX_VALUE_BYTES: Final = 8 * 1024 * 1024
_BUSY_ERRORS: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""Prefixes: each also begins the names of its extended error codes."""

Row = Mapping[str, Any]


class Database:
    """One read transaction on a file: all rows belong to the same snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tables = frozenset(
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        )

    def count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {_quote_identifier(table)}").fetchone()[0])  # noqa: S608

    def rows(self, table: str, newest_by: str | None = None, limit: int = -1) -> Iterator[Row]:
        """Yield rows as mappings with whatever columns exist; text that is not UTF-8 comes as bytes, so other rows stay readable."""
        order = f" ORDER BY {_quote_identifier(newest_by)} DESC" if newest_by else ""
        # Both names are constants of this package, quoted as identifiers; neither comes from a file.
        cursor = self._connection.execute(f"SELECT * FROM {_quote_identifier(table)}{order} LIMIT ?", (limit,))  # noqa: S608
        yield from _mappings(cursor)

    def count_of(self, table: str, column: str, value: str) -> int:
        """Count the rows with this value in a column."""
        where = f"{_quote_identifier(table)} WHERE {_quote_identifier(column)} = ?"
        return int(self._connection.execute(f"SELECT count(*) FROM {where}", (value,)).fetchone()[0])  # noqa: S608

    def rows_of(self, table: str, column: str, value: str, newest_by: str, limit: int) -> Iterator[Row]:
        """Yield the newest rows with this value in a column, newest first."""
        where = f"{_quote_identifier(table)} WHERE {_quote_identifier(column)} = ?"
        order = f"ORDER BY {_quote_identifier(newest_by)} DESC, rowid DESC"
        yield from _mappings(
            self._connection.execute(f"SELECT * FROM {where} {order} LIMIT ?", (value, limit))  # noqa: S608
        )


def _mappings(cursor: sqlite3.Cursor) -> Iterator[Row]:
    names = [column[0] for column in cursor.description]
    for values in cursor:
        yield dict(zip(names, values, strict=True))


@contextmanager
def open_read_only(path: Path) -> Iterator[Database]:
    """Open the file read-only in one transaction; every SQLite error inside is raised as a refusal of this file."""
    with _read_only_uri(path) as uri:
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_TIMEOUT)) as connection:
                _apply_limits(connection)
                connection.execute("BEGIN")
                yield Database(connection)
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", ""))
            if name == "SQLITE_INTERRUPT":
                raise refuse("import_too_much_work", path=path) from None
            code = "import_database_busy" if name.startswith(_BUSY_ERRORS) else "import_not_a_database"
            raise refuse(code, path=path, problem=error) from None


@contextmanager
def _read_only_uri(path: Path) -> Iterator[str]:
    """The SQLite URI that opens the file without creating any file next to it; depends on its journal mode and WAL files."""
    try:
        resolved = path.resolve(strict=True)
        journal = _read_journal_mode(path, resolved)
        wal, shm = (resolved.with_name(resolved.name + ending) for ending in ("-wal", "-shm"))
        if journal != _WAL_MODE:
            yield f"{resolved.as_uri()}?mode=ro"
        elif wal.exists() and shm.exists():
            # Another program has it open, or crashed: the shared memory is only read.
            yield f"{resolved.as_uri()}?mode=ro&readonly_shm=1"
        elif wal.exists():
            # A copy with its WAL but no shared memory: SQLite would create one next to it, so a temporary copy is read.
            with TemporaryDirectory() as folder:
                for source in (resolved, wal):
                    shutil.copyfile(source, Path(folder, source.name))
                yield f"{Path(folder, resolved.name).as_uri()}?mode=ro"
        else:
            yield f"{resolved.as_uri()}?mode=ro&immutable=1"
    except FileNotFoundError:
        raise refuse("import_no_file", path=path) from None
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None


def _read_journal_mode(path: Path, resolved: Path) -> int:
    if not stat.S_ISREG(resolved.stat().st_mode):
        raise refuse("import_not_a_file", path=path)
    with resolved.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise refuse("import_not_a_database", path=path, problem="it does not begin like one")
    return header[19]


def _apply_limits(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.text_factory = _decode_text
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.set_progress_handler(_step_budget(), _STEPS_PER_CALLBACK)


def _step_budget() -> Callable[[], bool]:
    steps = iter(range(_MAX_CALLBACKS))
    return lambda: next(steps, None) is None


def _decode_text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
