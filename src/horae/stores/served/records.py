"""Records on a server."""

from __future__ import annotations

from ...model.page import LARGEST_PAGE, Page
from ...ports.records import Record
from .link import Link
from .session import Session


class ServedRecords:
    _session: Session

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        rows = await self._session.ask("get_record", kind, key)
        record = Record(*rows[0]) if rows else None
        return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        async def work(link: Link) -> bool:
            held = await link.query("hold_record", record.kind, record.key)
            if replacing is None:
                return not held and bool(
                    await link.query("insert_record", record.kind, record.key, record.owner, record.body)
                )
            if held != [(replacing,)]:
                return False
            await link.query("update_record", record.kind, record.key, record.owner, record.body)
            return True

        return await self._session.transact(work)

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        async def work(link: Link) -> bool:
            if await link.query("hold_record", kind, key) != [(version,)]:
                return False
            await link.query("drop_record", kind, key)
            return True

        return await self._session.transact(work)

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Record]:
        size = min(limit, LARGEST_PAGE)
        rows = await self._session.ask("records_page", kind, after or "", size + 1, owner)
        items = tuple(Record(*row) for row in rows[:size])
        return Page(items, items[-1].key if items and len(rows) > size else None)
