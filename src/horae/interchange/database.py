"""Opens somebody else's SQLite file to look at it: nothing is written, not even beside it, also while it is in use."""

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
_HEADER: Final = 100
_WAL: Final = 2
_PATIENCE: Final = 1.0
"""Seconds to wait for somebody who writes: longer than any write of a program that is well."""
_STEPS: Final = 10_000
_MOST_STEPS: Final = 20_000
"""So many times that many steps: seconds, where a real database needs a blink."""
_LONGEST_VALUE: Final = 8 * 1024 * 1024
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""Each also begins the names of its finer kinds."""

Row = Mapping[str, Any]


class Database:
    """One consistent look at a file: everything that is read belongs to the same moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tables = frozenset(
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        )

    def count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0])  # noqa: S608

    def rows(self, table: str, newest_by: str | None = None, most: int = -1) -> Iterator[Row]:
        """Whatever columns there are. Text that is not UTF-8 comes as bytes, so that no other row suffers from it."""
        order = f" ORDER BY {_quoted(newest_by)} DESC" if newest_by else ""
        # Both names are written in this room; they are quoted as names, and never come from a file.
        cursor = self._connection.execute(f"SELECT * FROM {_quoted(table)}{order} LIMIT ?", (most,))  # noqa: S608
        names = [column[0] for column in cursor.description]
        for values in cursor:
            yield dict(zip(names, values, strict=True))


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Every failure inside is told as a refusal of this file."""
    with _address(path) as address:
        try:
            with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=_PATIENCE)) as connection:
                _bound(connection)
                connection.execute("BEGIN")
                yield Database(connection)
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", ""))
            if name == "SQLITE_INTERRUPT":
                raise refuse("import_too_much_work", path=path) from None
            code = "import_database_busy" if name.startswith(_BUSY) else "import_not_a_database"
            raise refuse(code, path=path, problem=error) from None


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """How to open it without leaving a trace, which depends on how it keeps its journal and on who else is there."""
    try:
        place = path.resolve(strict=True)
        journal = _journal(path, place)
        log, shared = (place.with_name(place.name + ending) for ending in ("-wal", "-shm"))
        if journal != _WAL:
            yield f"{place.as_uri()}?mode=ro"
        elif log.exists() and shared.exists():
            # Somebody is at it, or was when the power went. The shared memory is only looked at.
            yield f"{place.as_uri()}?mode=ro&readonly_shm=1"
        elif log.exists():
            # A copy that was taken with its log: to read the log SQLite would make a file beside it.
            with TemporaryDirectory() as folder:
                for each in (place, log):
                    shutil.copyfile(each, Path(folder, each.name))
                yield f"{Path(folder, place.name).as_uri()}?mode=ro"
        else:
            yield f"{place.as_uri()}?mode=ro&immutable=1"
    except FileNotFoundError:
        raise refuse("import_no_file", path=path) from None
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None


def _journal(path: Path, place: Path) -> int:
    if not stat.S_ISREG(place.stat().st_mode):
        raise refuse("import_not_a_file", path=path)
    with place.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise refuse("import_not_a_database", path=path, problem="it does not begin like one")
    return header[19]


def _bound(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.text_factory = _text
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.set_progress_handler(_budget(), _STEPS)


def _budget() -> Callable[[], bool]:
    steps = iter(range(_MOST_STEPS))
    return lambda: next(steps, None) is None


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
