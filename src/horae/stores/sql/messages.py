"""Messages port of the SQL stores, and their access for the algorithms that all stores share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from ...lifecycle.messages import make_page, progress_change
from ...model.ids import to_microseconds
from ...model.messages import (
    DEFAULT_QUOTA,
    PAGE_MESSAGES,
    Cursor,
    KeepRules,
    MessagePage,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamState,
    StreamUsage,
)
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...ports.messages import MessageTrim
from ..codec.message_rows import (
    decode_message,
    decode_stream,
    encode_duration,
)
from ..messages import (
    StreamWrites,
    delete_some,
    drop_reader,
    put_reader,
    put_stream,
    trim_stream,
    write_streams,
)
from ..transfer_pages import decode_position, encode_position
from .connection import Statements, Transactions
from .message_access import SQLMessageAccess, decode_usage, find_locked, read_stream_state
from .records import write_attached_records
from .settle import RunUpdater

_T = TypeVar("_T")


class SQLMessages:
    _database: Transactions
    _run_updater: RunUpdater

    async def _write(
        self,
        work: Callable[[SQLMessageAccess], Awaitable[_T]],
        attached_records: Sequence[RecordWrite] = (),
        *,
        urgent: bool = True,
    ) -> _T:
        """Run work in a transaction; the attached records are written only if it returns something."""
        records = tuple(attached_records)

        async def transact(connection: Statements) -> _T:
            result = await work(SQLMessageAccess(connection))
            if records and result:
                await write_attached_records(connection, records)
            return result

        return await self._database.transact(transact, urgent=urgent)

    async def append_messages(
        self,
        owner: str,
        messages: Sequence[NewMessage],
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> tuple[int, ...]:
        writing = StreamWrites(owner, tuple(messages), quota=quota)
        (numbers,) = await self._write(lambda access: write_streams(access, [writing]), attached_records)
        return numbers

    async def read_messages(
        self, owner: str, stream: str, after: int = 0, limit: int = 50, reader: str | None = None
    ) -> MessagePage | None:
        size = min(limit, PAGE_MESSAGES)

        async def read(connection: Statements) -> MessagePage | None:
            locked = find_locked(await connection.query("stream_row", owner, stream))
            if locked is None:
                return None
            state = await read_stream_state(connection, *locked)
            position = after
            if reader is not None:
                cursor = next((each for each in state.cursors if each.reader == reader), None)
                if cursor is None:
                    return None
                position = cursor.number
            rows = await connection.query("messages_page", locked.id, position, size)
            return make_page(state, position, [decode_message(owner, stream, row) for row in rows], size)

        return await self._database.read(read)

    async def stream(self, owner: str, name: str) -> StreamState | None:
        async def read(connection: Statements) -> StreamState | None:
            locked = find_locked(await connection.query("stream_row", owner, name))
            return None if locked is None else await read_stream_state(connection, *locked)

        return await self._database.read(read, extent="few")

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

    async def put_stream(
        self,
        stream: Stream,
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> Stream:
        return await self._write(lambda access: put_stream(access, stream, quota), attached_records)

    async def delete_stream(self, owner: str, name: str, attached_records: Sequence[RecordWrite] = ()) -> bool:
        state = await self.stream(owner, name)
        if state is None:
            return False
        created = state.stream.created
        while True:
            is_gone = await self._write(lambda access: delete_some(access, owner, name, created), attached_records)
            if is_gone is not False:
                return True

    async def register_reader(
        self,
        owner: str,
        stream: str,
        reader: str,
        after: int | None,
        now: datetime,
        attached_records: Sequence[RecordWrite] = (),
    ) -> Cursor | None:
        return await self._write(lambda access: put_reader(access, owner, stream, reader, after, now), attached_records)

    async def remove_reader(
        self, owner: str, stream: str, reader: str, attached_records: Sequence[RecordWrite] = ()
    ) -> bool:
        return await self._write(lambda access: drop_reader(access, owner, stream, reader), attached_records)

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        stale = await self._run_updater.release([(run_id, token)], lambda _facts, _run: progress_change(writes))
        return not stale

    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        durations = [encode_duration(each) for each in (rules.keep_for, rules.keep_read_for)]
        rows = await self._database.query("streams_to_trim", to_microseconds(now), rules.keep, *durations, limit)
        removed = 0
        for owner, name in rows:
            if removed < limit:
                removed += await self._trim_stream(owner, name, rules, limit - removed, now)
        return MessageTrim(removed, more=removed >= limit)

    async def _trim_stream(self, owner: str, name: str, rules: KeepRules, limit: int, now: datetime) -> int:
        return await self._write(lambda access: trim_stream(access, owner, name, rules, limit, now), urgent=False)
