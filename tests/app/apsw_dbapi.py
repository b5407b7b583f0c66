"""Minimal DB-API driver over apsw for SQLAlchemy's SQLite dialect: `create_engine(url, module=apsw_dbapi)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw

paramstyle = "qmark"
sqlite_version_info = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
Error = apsw.Error
DatabaseError = OperationalError = IntegrityError = ProgrammingError = InterfaceError = InternalError = apsw.Error
DataError = NotSupportedError = apsw.Error
PARSE_DECLTYPES = PARSE_COLNAMES = 0
Binary = bytes


def connect(filename: str, **_options: Any) -> Connection:
    return Connection(filename)


class Connection(apsw.Connection):
    """SQLAlchemy calls `commit` and `rollback`, and expects a transaction to begin with the first write."""

    isolation_level: str | None = ""

    def cursor(self) -> Any:
        return Cursor(self)

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def create_function(self, name: str, number: int, call: Callable[..., Any], *, deterministic: bool = False) -> None:
        self.create_scalar_function(name, call, number, deterministic=deterministic)


class Cursor:
    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1

    @property
    def lastrowid(self) -> int:
        return self._connection.last_insert_rowid()

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        writes = statement.lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE")
        if writes and not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        cursor = apsw.Connection.cursor(self._connection)
        cursor.execute(statement, tuple(parameters))
        try:
            self.description = tuple((name, None, None, None, None, None, None) for name, _ in cursor.get_description())
        except apsw.ExecutionCompleteError:
            self.description = None
        self._rows = list(cursor)
        self.rowcount = self._connection.changes()

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            self.execute(statement, row)

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def fetchall(self) -> list[Any]:
        taken, self._rows = self._rows, []
        return taken

    def close(self) -> None:
        self._rows = []
