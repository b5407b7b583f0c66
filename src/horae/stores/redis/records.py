"""Records port of the Redis store: versioned documents with an expiry, written alone or with events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...errors import Conflict
from ...model.events.event import Event
from ...model.ids import to_microseconds
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.stations.ballot import BALLOT_KIND, ballot_from
from ...ports.records import Record, RecordWrite
from .layout.documents import decode_record_document, encode_event_text
from .layout.keys import SEPARATOR
from .reads.index_reads import fetch_texts, read_texts
from .transactions.plan_writes import show_votes
from .transactions.record_writes import put_record, read_record, write_attached_records
from .transactions.runner import RedisTransactions
from .transactions.transaction import Transaction


class RedisRecords:
    _database: RedisTransactions

    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        (text,) = await read_texts(self._database, [self._database.keys.record(kind, key)])
        record = None if text is None else decode_record_document(text)
        return record if record is not None and owner in (None, record.owner) else None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        return await self.write_records((RecordWrite(record, replacing),))

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        return await self.write_records((RecordWrite(Record(kind, key, "", ""), version, dropped=True),))

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        return await self.write_with_events(writings, ())

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        given, texts = tuple(writings), [(event.owner, encode_event_text(event)) for event in events]

        async def work(transaction: Transaction) -> None:
            for text in texts:
                transaction.add_event(*text)
            await write_attached_records(transaction, given)
            for each in given:
                if each.record.kind == BALLOT_KIND and not each.dropped:
                    await show_votes(transaction, ballot_from(each.record))

        try:
            await self._database.transact(work)
        except Conflict:
            return False
        return True

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        size = min(limit, MAX_PAGE_SIZE)
        keys = self._database.keys
        index = keys.record_keys(kind) if owner is None else keys.owner_record_keys(kind, owner)
        command = "ZREVRANGEBYLEX" if newest else "ZRANGEBYLEX"
        first, last = ("+", "-") if newest else ("-", "+")
        words = (command, index, first if after is None else f"({after}", last, "LIMIT", 0, size + 1)
        rows = await fetch_texts(self._database, words, keys.record(kind, ""))
        records = [decode_record_document(text) for _, text in rows]
        items = tuple(records[:size])
        return Page(items, items[-1].key if items and len(records) > size else None)

    async def drop_expired(self, now: datetime, limit: int) -> int:
        keys = self._database.keys
        words = ("ZRANGEBYSCORE", keys.expiries, "-inf", to_microseconds(now), "LIMIT", 0, limit)
        found = [each.partition(SEPARATOR) for each in await self._database.client.call(*words)]
        if not found:
            return 0

        async def work(transaction: Transaction) -> int:
            await transaction.read([keys.record(kind, key) for kind, _, key in found])
            expired = 0
            for kind, _, key in found:
                record = await read_record(transaction, kind, key)
                if record is not None and record.expires is not None and record.expires <= now:
                    put_record(transaction, record, None)
                    expired += 1
            return expired

        count, _ = await self._database.transact(work)
        return count
