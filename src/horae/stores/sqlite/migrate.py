"""Schema of the SQLite file: creates the file, applies the numbered migrations in order, and reports versions and size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from ...clock import Clock
from ...errors import StoreDamaged, StoreUnavailable
from ..named_sql import read_migrations
from ..upgrade_check import LEASE_RECORD_FILTER, refuse_live_nodes, requires_stopped_nodes
from .connection import SqliteConnection

APPLICATION_ID: Final = 0x486F7261
"""`application_id` in the header of a Horae store: the letters "Hora"."""

_NODES: Final = "SELECT id, version, renewed FROM nodes"
_LEASE: Final = f"SELECT body FROM records WHERE {LEASE_RECORD_FILTER.format(key='key')}"  # noqa: S608 - constants


def migrations() -> list[tuple[int, str]]:
    return read_migrations(__package__)


def create_file(path: str) -> None:
    """Create an empty file with mode 0600, atomically, also if other processes create it at the same time.

    The file itself must not be opened and closed here: that would drop the locks that this process holds on it.
    """
    # The target of a dangling symbolic link: SQLite would create it with default permissions.
    target = Path(os.path.realpath(path))
    if target.exists():
        return
    handle, temporary_path = tempfile.mkstemp(prefix=".horae-", dir=target.parent)
    os.close(handle)
    try:
        with suppress(FileExistsError):
            os.link(temporary_path, target)
    finally:
        Path(temporary_path).unlink()


def migrate(connection: SqliteConnection, place: str) -> None:
    """Apply pending migrations; raises StoreDamaged for a file of another program or of a newer Horae, and UnusableStore
    while a node of an older version is running that a migration would break. `place` names the file in a refusal.

    Safe when several processes run it at once: each migration checks the version again inside its transaction.
    """
    _refuse_foreign_file(connection)
    connection.query_when_free("PRAGMA journal_mode = WAL")
    connection.query("PRAGMA synchronous = FULL")
    for number, script in migrations():
        if _read_version(connection) < number:
            with _exclusive_transaction(connection):
                if _read_version(connection) < number:
                    if requires_stopped_nodes(script):
                        _refuse_live_nodes(connection, place)
                    connection.query(script)
                    connection.query(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.query(f"PRAGMA user_version = {number}")


def _refuse_foreign_file(connection: SqliteConnection) -> None:
    newest, _ = migrations()[-1]
    try:
        # In one transaction, because another process may be creating the tables.
        connection.query("BEGIN")
        ((application_id,),) = connection.query("PRAGMA application_id")
        ((tables,),) = connection.query("SELECT count(*) FROM sqlite_schema")
        connection.query("COMMIT")
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"The file is not a store of Horae: {error}.") from error
    if application_id != APPLICATION_ID and (tables or application_id):
        raise StoreDamaged("The file is a database of another program, and was left as it is.")
    if _read_version(connection) > newest:
        raise StoreDamaged(
            f"The file was written by a newer Horae (schema {_read_version(connection)}, this one knows {newest}); it was left as it is."
        )


def _refuse_live_nodes(connection: SqliteConnection, place: str) -> None:
    nodes: list[tuple[str, str, int]] = connection.query(_NODES)
    lease = next((body for (body,) in connection.query(_LEASE)), None)
    refuse_live_nodes(place, nodes, lease, connection.clock.now())


def _read_version(connection: SqliteConnection) -> int:
    ((version,),) = connection.query("PRAGMA user_version")
    return int(version)


@contextmanager
def _exclusive_transaction(connection: SqliteConnection) -> Iterator[None]:
    connection.query("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.query("ROLLBACK")
        raise
    connection.query("COMMIT")


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


def read_status(path: str, clock: Clock) -> FileStatus:
    try:
        # A writable connection, although nothing is written: only such a one removes the log when it closes last.
        connection = SqliteConnection(path, clock=clock, cache_kilobytes=256)
        try:
            ((application_id,),) = connection.query("PRAGMA application_id")
            ((journal,),) = connection.query("PRAGMA journal_mode")
            schema = _read_version(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise StoreDamaged(f"The file is not a store of Horae: {error}.") from error
    if application_id != APPLICATION_ID:
        raise StoreDamaged("The file is a database of another program, or of none.")
    sqlite, apsw_version = library_versions()
    newest, _ = migrations()[-1]
    return FileStatus(sqlite, apsw_version, schema, newest, journal, _total_size(path))


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
