"""Message streams in a transaction of a SQL store: the statements of the algorithms that all stores share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ...errors import StoreError
from ...model.events.event import Event
from ...model.ids import to_microseconds
from ...model.messages import Cursor, Gap, Message, Stream, StreamUsage
from ..codec.json_codecs import instant_of
from ..codec.message_rows import (
    decode_cursor,
    decode_gap,
    decode_message,
    decode_stream_with_id,
    encode_duration,
    encode_message,
)
from ..codec.rows import Row, encode_event
from ..messages import LockedStream
from .connection import Statements


class SQLMessageAccess:
    def __init__(self, connection: Statements) -> None:
        self._connection = connection

    async def find(self, owner: str, name: str) -> LockedStream | None:
        return _locked_of(await self._connection.query("stream_row", owner, name))

    async def messages(self, found: LockedStream, after: int, limit: int) -> Sequence[Message]:
        _, stream = found
        rows = await self._connection.query("messages_page", found.id, after, limit)
        return [decode_message(stream.owner, stream.name, row) for row in rows]

    async def lock(self, owner: str, name: str) -> LockedStream | None:
        return _locked_of(await self._connection.query("lock_stream", owner, name))

    async def create(self, stream: Stream) -> LockedStream:
        values = stream.keep, encode_duration(stream.keep_for)
        await self._connection.query(
            "create_stream", stream.owner, stream.name, to_microseconds(stream.created), *values
        )
        locked = await self.lock(stream.owner, stream.name)
        if locked is None:
            raise StoreError(f"The stream {stream.name} was created and is not there; nothing was written.")
        return locked

    async def update(self, locked: LockedStream) -> None:
        stream = locked.stream
        await self._connection.query(
            "update_stream",
            locked.id,
            stream.first,
            stream.last,
            stream.bytes,
            stream.keep,
            encode_duration(stream.keep_for),
            None if stream.oldest is None else to_microseconds(stream.oldest),
        )

    async def known_numbers(self, stream_id: Any, identities: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        sources, ids = [source for source, _ in identities], [each for _, each in identities]
        rows = await self._connection.query("known_messages", stream_id, sources, ids)
        return {(source, source_id): number for source, source_id, number in rows}

    async def append(self, locked: LockedStream, messages: Sequence[Message]) -> None:
        values: list[Any] = []
        for _, number, message in messages:
            values += (locked.id, number, *encode_message(message))
        if len(messages) == 1 and self._connection.dialect.has_concurrent_writers:
            # One round trip: nearly every append to a server is of one message.
            _, stream = locked
            oldest = None if stream.oldest is None else to_microseconds(stream.oldest)
            await self._connection.query("append_message", *values, stream.last, stream.bytes, oldest)
            return
        await self._connection.write_rows("insert_messages", 9, values)
        await self.update(locked)

    async def cursors(self, stream_id: Any) -> tuple[Cursor, ...]:
        return tuple(map(decode_cursor, await self._connection.query("stream_cursors", stream_id)))

    async def put_cursor(self, stream_id: Any, cursor: Cursor) -> None:
        await self._connection.query(
            "put_cursor", stream_id, cursor.reader, cursor.number, to_microseconds(cursor.moved)
        )

    async def drop_cursor(self, stream_id: Any, reader: str) -> None:
        await self._connection.query("drop_cursor", stream_id, reader)

    async def gaps(self, stream_id: Any) -> tuple[Gap, ...]:
        return tuple(map(decode_gap, await self._connection.query("stream_gaps", stream_id)))

    async def replace_gaps(self, stream_id: Any, gaps: Sequence[Gap]) -> None:
        await self._connection.query("drop_gaps", stream_id)
        values = [value for gap in gaps for value in (stream_id, gap.first, gap.last, to_microseconds(gap.at))]
        if values:
            await self._connection.write_rows("insert_gaps", 4, values)

    async def usage(self, owner: str) -> StreamUsage:
        return decode_usage(await self._connection.query("stream_usage", owner))

    async def last_older(self, locked: LockedStream, before: datetime, limit: int) -> int:
        stream = locked.stream
        end = min(stream.first + limit - 1, stream.last)
        ((number,),) = await self._connection.query(
            "first_message_since", locked.id, stream.first, end, to_microseconds(before)
        )
        return end if number is None else number - 1

    async def drop_messages(self, stream_id: Any, until: int) -> int:
        ((size,),) = await self._connection.query("message_bytes", stream_id, until)
        await self._connection.query("drop_messages", stream_id, until)
        return int(size)

    async def instant_of(self, stream_id: Any, number: int) -> datetime | None:
        rows = await self._connection.query("message_instant", stream_id, number)
        return next((instant_of[at] for (at,) in rows), None)

    async def delete(self, stream_id: Any) -> None:
        await self._connection.query("drop_messages", stream_id, 2**62)
        await self._connection.query("drop_cursors", stream_id)
        await self._connection.query("drop_gaps", stream_id)
        await self._connection.query("drop_stream", stream_id)

    async def write_event(self, event: Event) -> None:
        await self._connection.write_events([encode_event(event)])


def _locked_of(rows: list[Row]) -> LockedStream | None:
    return next((LockedStream(*decode_stream_with_id(row)) for row in rows), None)


def decode_usage(rows: list[Row]) -> StreamUsage:
    ((streams, size),) = rows
    return StreamUsage(streams, int(size))
