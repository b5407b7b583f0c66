"""Record writes of the SQLite store: consecutive writes of one kind in one statement, versions checked by its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from ...ports.records import RecordWrite
from ..codec.rows import encode_expiry
from .connection import BulkStatement, SqliteConnection, sql

_INSERT_MANY: Final = BulkStatement("insert_records", 5)
_UPDATE: Final = sql("update_record")
_DROP_MANY: Final = BulkStatement("drop_records", 3)


def write_grouped(connection: SqliteConnection, writings: Iterable[RecordWrite]) -> RecordWrite | None:
    """Write in order, consecutive writes of one kind in one statement, and return the first with a version conflict.

    After a conflict some of the other records may have been written; the caller rolls back.
    """
    for write, group in groupby(writings, _writer_for):
        changed = write(connection, list(group))
        if changed is not None:
            return changed
    return None


def _writer_for(writing: RecordWrite) -> Callable[[SqliteConnection, Sequence[RecordWrite]], RecordWrite | None]:
    if writing.dropped:
        return _drop
    return _insert if writing.replacing is None else _update


def _insert(connection: SqliteConnection, writings: Sequence[RecordWrite]) -> RecordWrite | None:
    values: list[Any] = []
    for (kind, key, owner, body, _, expires), _, _ in writings:
        values += (kind, key, owner, body, encode_expiry(expires))
    return _first_unwritten(writings, connection.write_returning(_INSERT_MANY, values))


def _drop(connection: SqliteConnection, writings: Sequence[RecordWrite]) -> RecordWrite | None:
    values: list[Any] = []
    for record, replacing, _ in writings:
        values += (record.kind, record.key, replacing)
    return _first_unwritten(writings, connection.write_returning(_DROP_MANY, values))


def _update(connection: SqliteConnection, writings: Sequence[RecordWrite]) -> RecordWrite | None:
    return next((writing for writing in writings if not _update_one(connection, writing)), None)


def _update_one(connection: SqliteConnection, writing: RecordWrite) -> bool:
    (kind, key, owner, body, _, expires), replacing, _ = writing
    return bool(connection.query(_UPDATE, (owner, body, encode_expiry(expires), kind, key, replacing)))


def _first_unwritten(writings: Sequence[RecordWrite], written: Iterable[tuple[Any, ...]]) -> RecordWrite | None:
    """Return the first record that the statement did not return as written; of two with one key, that is the second."""
    written_keys = set(written)
    for writing in writings:
        key = writing.record.kind, writing.record.key
        if key not in written_keys:
            return writing
        written_keys.remove(key)
    return None
