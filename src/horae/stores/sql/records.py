"""Records port of the SQL stores: versioned key-value records with expiry, written alone or attached to another change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from ...model.events.event import Event
from ...model.ids import to_microseconds
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse
from ...ports.records import Record, RecordWrite
from ..codec.rows import AFTER_ALL_KEYS, decode_record, encode_event
from .connection import Statements, Transactions


class _RecordChangedError(Exception):
    """A record was changed concurrently; raising this rolls the transaction back."""


class SQLRecords:
    _database: Transactions

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        rows = await self._database.lookup("get_record", kind, key)
        record = next(map(decode_record, rows), None)
        return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        return await self.write_records((RecordWrite(record, replacing),))

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        return await self.write_records((RecordWrite(Record(kind, key, "", ""), version, dropped=True),))

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        given = tuple(writings)
        if not given:
            return True
        if len(given) == 1:
            return await self._database.run_statement(lambda connection: connection.write_records(given)) is None
        try:
            await self._database.transact(lambda connection: _write_all_or_none(connection, given))
        except _RecordChangedError:
            return False
        return True

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        given, rows = tuple(writings), [encode_event(event) for event in events]

        async def write(connection: Statements) -> None:
            if rows:
                await connection.write_events(rows)
            await _write_all_or_none(connection, given)

        try:
            await self._database.transact(write)
        except _RecordChangedError:
            return False
        return True

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        size = min(limit, MAX_PAGE_SIZE)
        cursor = after if after is not None else AFTER_ALL_KEYS if newest else ""
        values = (kind, cursor, size + 1)
        if owner is None:
            rows = await self._database.query("newest_records_page" if newest else "records_page", *values)
        else:
            statement = "newest_records_page_of_owner" if newest else "records_page_of_owner"
            rows = await self._database.query(statement, *values, owner)
        items = tuple(decode_record(row) for row in rows[:size])
        return Page(items, items[-1].key if items and len(rows) > size else None)

    async def drop_expired(self, now: datetime, limit: int) -> int:
        at = to_microseconds(now)
        ((has_expired,),) = await self._database.query("something_expired", at)
        if not has_expired:
            return 0
        return len(
            await self._database.transact(lambda connection: connection.query("drop_expired", at, limit), urgent=False)
        )


async def _write_all_or_none(connection: Statements, writings: Sequence[RecordWrite]) -> None:
    if await write_in_key_order(connection, writings) is not None:
        raise _RecordChangedError


async def write_attached_records(connection: Statements, writings: Iterable[RecordWrite]) -> None:
    """Write the records as the last step before the commit. Raise `record_changed` if one has another version by now:
    the whole transaction is rolled back, and the caller must read again."""
    conflict = await write_in_key_order(connection, writings)
    if conflict is not None:
        raise refuse("record_changed", kind=conflict.record.kind, key=conflict.record.key)


async def write_in_key_order(connection: Statements, writings: Iterable[RecordWrite]) -> RecordWrite | None:
    """Write sorted by key, which prevents deadlocks; several writings of one record keep their order.

    Return the first record that was changed concurrently (None: all were written); the transaction must then not commit.
    """
    ordered = sorted(writings, key=_key)
    return await connection.write_records(ordered) if ordered else None


def _key(writing: RecordWrite) -> tuple[str, str]:
    return writing.record.kind, writing.record.key
