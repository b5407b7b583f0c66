"""Records in memory."""

from __future__ import annotations

from itertools import islice

from ...model.page import LARGEST_PAGE, Page
from ...ports.records import Record
from .data import Data


class MemoryRecords:
    _data: Data

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        with self._data.lock:
            record = self._data.records.get((kind, key))
            return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        with self._data.lock:
            known = self._data.records.get((record.kind, record.key))
            if replacing != (None if known is None else known.version):
                return False
            version = 1 if replacing is None else replacing + 1
            self._data.records[record.kind, record.key] = record._replace(version=version)
            return True

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        with self._data.lock:
            known = self._data.records.get((kind, key))
            if known is None or known.version != version:
                return False
            del self._data.records[kind, key]
            return True

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Record]:
        with self._data.lock:
            found = sorted(
                record
                for record in self._data.records.values()
                if record.kind == kind and owner in (None, record.owner) and (after is None or record.key > after)
            )
        items = tuple(islice(found, min(limit, LARGEST_PAGE)))
        return Page(items, items[-1].key if items and len(found) > len(items) else None)
