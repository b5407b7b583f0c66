"""Records in SQLite."""

from __future__ import annotations

from typing import Final

from ...model.page import LARGEST_PAGE, Page
from ...ports.records import Record
from .link import Link
from .readers import Readers
from .statements import sql
from .writer import Writer

_GET: Final = sql("get_record")
_INSERT: Final = sql("insert_record")
_UPDATE: Final = sql("update_record")
_DROP: Final = sql("drop_record")
_PAGE: Final = sql("records_page")


class SQLiteRecords:
    _writer: Writer
    _readers: Readers

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        rows = await self._readers.do(lambda link: link.query(_GET, (kind, key)))
        record = Record(*rows[0]) if rows else None
        return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        kind, key, owner, body, _ = record

        def work(link: Link) -> bool:
            if replacing is None:
                link.query(_INSERT, (kind, key, owner, body))
            else:
                link.query(_UPDATE, (owner, body, kind, key, replacing))
            return link.changed > 0

        return await self._writer.do(work)

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        def work(link: Link) -> bool:
            link.query(_DROP, (kind, key, version))
            return link.changed > 0

        return await self._writer.do(work)

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Record]:
        size = min(limit, LARGEST_PAGE)
        bindings = {"kind": kind, "owner": owner, "after": after or "", "limit": size + 1}
        rows = await self._readers.do(lambda link: link.query(_PAGE, bindings))
        items = tuple(Record(*row) for row in rows[:size])
        return Page(items, items[-1].key if items and len(rows) > size else None)
