"""Records port of the SQLite store: versioned key-value records with expiry, written alone or attached to another write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from ...model.ids import to_microseconds
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse
from ...ports.records import Record, RecordWrite
from ..codec.rows import AFTER_ALL_KEYS, decode_record, encode_expiry
from .connection import BulkStatement, SqliteConnection, sql
from .readers import Readers
from .writer import Writer

_GET: Final = sql("get_record")
_PAGE: Final = sql("records_page")
_PAGE_OF_OWNER: Final = sql("records_page_of_owner")
_NEWEST: Final = sql("newest_records_page")
_NEWEST_OF_OWNER: Final = sql("newest_records_page_of_owner")
_HAS_EXPIRED: Final = sql("something_expired")
_DROP_EXPIRED: Final = sql("drop_expired")


class SQLiteRecords:
    _writer: Writer
    _readers: Readers

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        rows = await self._readers.run_inline(
            lambda connection: connection.query(_GET, (kind, key)), single_statement=True
        )
        record = next(map(decode_record, rows), None)
        return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        return await self._writer.submit(lambda connection: write_record(connection, RecordWrite(record, replacing)))

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        deletion = RecordWrite(Record(kind, key, "", ""), version, dropped=True)
        return await self._writer.submit(lambda connection: write_record(connection, deletion))

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        batch = tuple(writings)
        if not batch:
            return True
        return await self._writer.submit(lambda connection: write_all_or_none(connection, batch))

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        size = min(limit, MAX_PAGE_SIZE)
        if newest:
            statement, start = _NEWEST if owner is None else _NEWEST_OF_OWNER, AFTER_ALL_KEYS
        else:
            statement, start = _PAGE if owner is None else _PAGE_OF_OWNER, ""
        bindings = (kind, start if after is None else after, size + 1)
        rows = await self._readers.query(statement, bindings if owner is None else (owner, *bindings))
        items = tuple(decode_record(row) for row in rows[:size])
        return Page(items, items[-1].key if items and len(rows) > size else None)

    async def drop_expired(self, now: datetime, limit: int) -> int:
        at = to_microseconds(now)
        ((has_expired,),) = await self._readers.query(_HAS_EXPIRED, (at,))
        if not has_expired:
            return 0
        return len(
            await self._writer.submit(lambda connection: connection.query(_DROP_EXPIRED, (at, limit)), urgent=False)
        )


_INSERT: Final = sql("insert_record")
_INSERT_MANY: Final = BulkStatement("insert_records", 5)
_UPDATE: Final = sql("update_record")
_DROP: Final = sql("drop_record")
_DROP_MANY: Final = BulkStatement("drop_records", 3)


def write_record(connection: SqliteConnection, writing: RecordWrite) -> bool:
    """Write one record; returns False, without a write, if the stored version is not the one it replaces."""
    (kind, key, owner, body, _, expires), replacing, dropped = writing
    if dropped:
        return bool(connection.query(_DROP, (kind, key, replacing)))
    if replacing is None:
        return bool(connection.query(_INSERT, (kind, key, owner, body, encode_expiry(expires))))
    return bool(connection.query(_UPDATE, (owner, body, encode_expiry(expires), kind, key, replacing)))


def write_attached_records(connection: SqliteConnection, writings: Iterable[RecordWrite]) -> None:
    """Write all records; raises a `record_changed` refusal if one was changed, which rolls the request back."""
    changed = _write_grouped(connection, writings)
    if changed is not None:
        raise refuse("record_changed", kind=changed.record.kind, key=changed.record.key)


def write_all_or_none(connection: SqliteConnection, writings: Iterable[RecordWrite]) -> bool:
    """Write all records or none, in a savepoint of the open transaction; returns whether they were written."""
    connection.query("SAVEPOINT records")
    written = _write_grouped(connection, writings) is None
    if not written:
        connection.query("ROLLBACK TO records")
    connection.query("RELEASE records")
    return written


def _write_grouped(connection: SqliteConnection, writings: Iterable[RecordWrite]) -> RecordWrite | None:
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
    return next((writing for writing in writings if not write_record(connection, writing)), None)


def _first_unwritten(writings: Sequence[RecordWrite], written: Iterable[tuple[Any, ...]]) -> RecordWrite | None:
    """Return the first record that the statement did not return as written; of two with one key, that is the second."""
    written_keys = set(written)
    for writing in writings:
        key = writing.record.kind, writing.record.key
        if key not in written_keys:
            return writing
        written_keys.remove(key)
    return None
