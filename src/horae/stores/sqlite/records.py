"""Records port of the SQLite store: versioned key-value records with expiry and pagination."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...model.ids import to_microseconds
from ...model.page import MAX_PAGE_SIZE, Page
from ...ports.records import Record, RecordWrite
from ..codec.rows import AFTER_ALL_KEYS, decode_record
from .attached_records import write_all_or_none, write_record
from .readers import Readers
from .statements import sql
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
        record = decode_record(rows[0]) if rows else None
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
        if not (await self._readers.query(_HAS_EXPIRED, (at,)))[0][0]:
            return 0
        return len(
            await self._writer.submit(lambda connection: connection.query(_DROP_EXPIRED, (at, limit)), urgent=False)
        )
