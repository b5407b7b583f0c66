"""Records port of the in-memory store: versioned key-value records with expiry and pagination."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from ...errors import Conflict
from ...model.events.event import Event
from ...model.page import MAX_PAGE_SIZE, Page
from ...ports.records import Record, RecordWrite
from .data import Data


class MemoryRecords:
    _data: Data

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        with self._data.lock:
            record = self._data.records.get((kind, key))
            return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        with self._data.transaction():
            return self._data.records.write_if_unchanged(RecordWrite(record, replacing))

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        with self._data.transaction():
            return self._data.records.write_if_unchanged(RecordWrite(Record(kind, key, "", ""), version, dropped=True))

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        try:
            with self._data.transaction():
                self._data.attach_records(writings)
        except Conflict:
            return False
        return True

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        try:
            with self._data.transaction():
                self._data.attach_records(writings)
                for event in events:
                    self._data.events.append(event)
        except Conflict:
            return False
        return True

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        with self._data.lock:
            all_records = self._data.records.of_kind(kind, after, newest=newest)
            matches = (record for record in all_records if owner in (None, record.owner))
            items = tuple(islice(matches, min(limit, MAX_PAGE_SIZE)))
            more = bool(items) and next(matches, None) is not None
        return Page(items, items[-1].key if more else None)

    async def drop_expired(self, now: datetime, limit: int) -> int:
        with self._data.transaction():
            expired = self._data.records.expired(now, limit)
            for key in expired:
                self._data.records.write(key, None)
            return len(expired)
