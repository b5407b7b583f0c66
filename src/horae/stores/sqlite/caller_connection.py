"""A connection to the file that somebody else has opened: looked at before it is used, and left as it was."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import apsw

from ..shared_transaction_refusals import refuse
from ..sqlalchemy_connection import Lent
from .connection import Bindings, Link, Row
from .statements import Bulk

Connection: TypeAlias = apsw.Connection | sqlite3.Connection

_WANTED: Final = "an open apsw.Connection (sqlite3 only where both share one SQLite library)"
_TABLES: Final = "agenda|events|records|runs|seats|sqlite_sequence|standings|tallies|tasks"
_NAMES_A_TABLE: Final = re.compile(rf"\b(FROM|INTO|JOIN|UPDATE) ({_TABLES})\b")
_KEPT_SPELLINGS: Final = 256


class Borrowed(Link):
    """As a link of our own, for what adds tasks. Nothing is set, and every table is named with its schema: whoever opened
    the connection may have others of the same name, in a file of their own or as temporary ones."""

    def __init__(self, connection: Connection) -> None:
        self.statements = 0
        self.newest_hour = 0
        self._borrowed = connection
        self._schema = "main"
        self._cursor: Any = _plain_cursor(connection)

    def find(self, path: str) -> None:
        """Refuses a connection that does not lead to this file, by itself or by ATTACH."""
        wanted = _real(path)
        for _, name, file in self.query("PRAGMA database_list"):
            if file and _real(os.fsdecode(file)) == wanted:
                self._schema = os.fsdecode(name)
                return
        raise refuse("another_database", place=path)

    def query(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        with _in_apsw_words():
            return super().query(_spelled(statement, self._schema), bindings)

    def write_rows(self, bulk: Bulk, values: list[Any]) -> None:
        for text, start, end in bulk.parts(len(values)):
            self.query(text, values[start:end])

    def write_each(self, statement: str, rows: Sequence[Row]) -> None:
        for row in rows:
            self.query(statement, row)

    @property
    def in_transaction(self) -> bool:
        return self._borrowed.in_transaction

    def close(self) -> None:
        """What was borrowed stays open."""
        self._cursor.close()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Within their transaction, which stays usable when this fails."""
        self.query("SAVEPOINT horae_adds")
        try:
            yield
        except BaseException:
            # For want of space SQLite may have given up the whole of it.
            with suppress(apsw.Error):
                if self.in_transaction:
                    self.query("ROLLBACK TO horae_adds")
                    self.query("RELEASE horae_adds")
            raise
        self.query("RELEASE horae_adds")


async def begin_if_needed(lent: Lent) -> None:
    """SQLAlchemy counts its transaction from the first statement; SQLite's may still have to begin."""
    connection = _sqlite_connection(lent.connection, lent.name)
    if lent.begin is not None and not connection.in_transaction:
        try:
            await lent.begin("BEGIN IMMEDIATE")
        except Exception as error:
            if "locked" in str(getattr(error, "orig", "")):
                raise refuse("busy_transaction") from error
            raise


def _sqlite_connection(connection: object, name: str) -> Connection:
    """Refuse what is no connection of SQLite, and one of another copy of SQLite in this process."""
    if isinstance(connection, sqlite3.Connection):
        if not one_library():
            raise refuse("another_library", theirs=sqlite3.sqlite_version, ours=apsw.sqlite_lib_version())
    elif not isinstance(connection, apsw.Connection):
        raise refuse("wrong_connection", came=name, wanted=_WANTED)
    return connection


@contextmanager
def borrowed(connection: object, path: str, name: str | None = None) -> Iterator[Borrowed]:
    """The connection as a link to the file at this path; refused where that would not be safe, or would hold nothing."""
    theirs = _sqlite_connection(connection, f"A {type(connection).__name__}" if name is None else name)
    try:
        link = Borrowed(theirs)
        begun = link.in_transaction
    except (apsw.ConnectionClosedError, sqlite3.ProgrammingError) as error:
        raise _unusable(error) from error
    with closing(link):
        link.find(path)
        if not begun:
            raise refuse("no_transaction", begin="connection.execute('BEGIN IMMEDIATE')")
        yield link


@cache
def one_library() -> bool:
    """Whether sqlite3 and apsw are two doors to the same SQLite: then what one of them registers, the other one finds.

    Two copies in one process do not see each other's locks, whatever their versions.
    """
    name = "horae-one-library"
    probe = apsw.VFS(name, "")
    try:
        sqlite3.connect(f"file:probe?mode=memory&vfs={name}", uri=True).close()
    except sqlite3.OperationalError:
        return False
    finally:
        probe.unregister()
    return True


@contextmanager
def _in_apsw_words() -> Iterator[None]:
    """So that whoever catches an error of SQLite need not know by which door it came."""
    try:
        yield
    except sqlite3.Error as error:
        if not hasattr(error, "sqlite_errorcode"):
            raise _unusable(error) from error
        raise apsw.exception_for(error.sqlite_errorcode) from error


def _unusable(error: Exception) -> Exception:
    if "thread" in str(error):
        return refuse(
            "another_thread",
            how="Open it with check_same_thread=False, or with apsw.Connection(path)",
            how_zh="请用 check_same_thread=False 打开，或使用 apsw.Connection(path)",
        )
    return refuse("wrong_connection", came="A connection that is closed", wanted=_WANTED)


@lru_cache(_KEPT_SPELLINGS)
def _spelled(statement: str, schema: str) -> str:
    quoted = schema.replace('"', '""')
    return _NAMES_A_TABLE.sub(lambda found: f'{found[1]} "{quoted}".{found[2]}', statement)


def _plain_cursor(connection: Connection) -> apsw.Cursor | sqlite3.Cursor:
    """Rows as they are, whatever their owner has them made into."""
    if isinstance(connection, sqlite3.Connection):
        plain = sqlite3.Cursor(connection)
        plain.row_factory = None
        return plain
    cursor = apsw.Cursor(connection)
    cursor.row_trace = _as_it_is
    return cursor


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _as_it_is(_cursor: apsw.Cursor, row: Row) -> Row:
    return row
