"""Messages port of the SQL stores, and their access for the algorithms that all stores share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from ...lifecycle.messages import progress_change
from ...model.ids import to_microseconds
from ...model.messages import KeepRules, RunWrites, Stream, StreamUsage
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...ports.messages import MessageTrim
from ..codec.message_rows import decode_stream, encode_duration
from ..message_store import MessageStore
from ..messages import MessageAccess
from ..transfer_pages import decode_position, encode_position
from .connection import Statements, Transactions
from .message_access import SQLMessageAccess, decode_usage
from .records import write_attached_records
from .settle import RunUpdater

_T = TypeVar("_T")


class SQLMessages(MessageStore):
    _database: Transactions
    _run_updater: RunUpdater

    async def _write_streams(
        self,
        work: Callable[[MessageAccess], Awaitable[_T]],
        attached_records: Sequence[RecordWrite] = (),
        *,
        urgent: bool = True,
    ) -> _T:
        records = tuple(attached_records)

        async def transact(connection: Statements) -> _T:
            result = await work(SQLMessageAccess(connection))
            if records and result:
                await write_attached_records(connection, records)
            return result

        return await self._database.transact(transact, urgent=urgent)

    async def _read_streams(self, work: Callable[[MessageAccess], Awaitable[_T]], *, is_page: bool = False) -> _T:
        async def read(connection: Statements) -> _T:
            return await work(SQLMessageAccess(connection))

        return await self._database.read(read, extent="page" if is_page else "few")

    async def streams(self, owner: str | None, after: str | None = None, limit: int = 100) -> Page[Stream]:
        size = min(limit, MAX_PAGE_SIZE)
        after_owner, after_name = decode_position(after, ("", ""))
        if owner is None:
            rows = await self._database.query("streams_page", after_owner, after_name, size + 1)
        else:
            rows = await self._database.query("streams_page_of_owner", owner, after_name, size + 1)
        items = tuple(map(decode_stream, rows[:size]))
        return Page(items, encode_position(items[-1].owner, items[-1].name) if len(rows) > size else None)

    async def stream_usage(self, owner: str) -> StreamUsage:
        return decode_usage(await self._database.query("stream_usage", owner))

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        stale = await self._run_updater.release([(run_id, token)], lambda _facts, _run: progress_change(writes, run_id))
        return not stale

    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        durations = [encode_duration(each) for each in (rules.keep_for, rules.keep_read_for)]
        rows = await self._database.query("streams_to_trim", to_microseconds(now), rules.keep, *durations, limit)
        removed = 0
        for owner, name in rows:
            if removed < limit:
                removed += await self._trim_stream(owner, name, rules, limit - removed, now)
        return MessageTrim(removed, more=removed >= limit)
