"""Messages port of the in-memory store, and its access for the algorithms that all stores share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ...lifecycle.messages import progress_change
from ...model.events.event import Event
from ...model.messages import (
    Cursor,
    Gap,
    KeepRules,
    Message,
    RunWrites,
    Stream,
    StreamState,
    StreamUsage,
)
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...ports.messages import MessageTrim
from ..message_store import MessageStore
from ..messages import LockedStream, MessageAccess
from ..run_to_end import run_to_end
from ..transfer_pages import decode_position, encode_position
from .table import Table, Transaction

if TYPE_CHECKING:
    from .data import Data

_T = TypeVar("_T")


class MessageTables:
    """Streams by owner and name, messages by stream and number, and their numbers by source and id."""

    def __init__(self, transaction: Transaction) -> None:
        self.streams: Table[tuple[str, str], StreamState] = Table(transaction)
        self.messages: Table[tuple[str, str, int], Message] = Table(transaction)
        self.numbers: Table[tuple[str, str, str, str], int] = Table(transaction)

    def put(self, message: Message) -> None:
        key = message.owner, message.message.stream
        self.messages.write((*key, message.number), message)
        self.numbers.write((*key, *message.message.identity), message.number)

    def of_stream(self, stream: Stream, after: int = 0) -> Iterator[Message]:
        for number in range(max(after + 1, stream.first), stream.last + 1):
            yield self.messages[stream.owner, stream.name, number]

    def usage(self, owner: str) -> StreamUsage:
        sizes = [state.stream.bytes for state in self.streams if state.stream.owner == owner]
        return StreamUsage(len(sizes), sum(sizes))


class MemoryMessageAccess:
    """The transaction holds the lock of the whole store, so there is nothing to lock."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._tables = data.messages

    async def find(self, owner: str, name: str) -> LockedStream | None:
        state = self._tables.streams.get((owner, name))
        return None if state is None else LockedStream((owner, name), state.stream)

    async def messages(self, found: LockedStream, after: int, limit: int) -> Sequence[Message]:
        return tuple(islice(self._tables.of_stream(found.stream, after), limit))

    async def lock(self, owner: str, name: str) -> LockedStream | None:
        return await self.find(owner, name)

    async def create(self, stream: Stream) -> LockedStream:
        key = stream.owner, stream.name
        self._tables.streams.write(key, StreamState(stream))
        return LockedStream(key, stream)

    async def update(self, locked: LockedStream) -> None:
        self._replace(locked.id, stream=locked.stream)

    def _replace(self, key: tuple[str, str], **fields: Any) -> None:
        self._tables.streams.write(key, self._tables.streams[key]._replace(**fields))

    async def known_numbers(self, stream_id: Any, identities: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        numbers = self._tables.numbers
        return {each: numbers[*stream_id, *each] for each in identities if (*stream_id, *each) in numbers}

    async def append(self, locked: LockedStream, messages: Sequence[Message]) -> None:
        for message in messages:
            self._tables.put(message)
        await self.update(locked)

    async def cursors(self, stream_id: Any) -> tuple[Cursor, ...]:
        return self._tables.streams[stream_id].cursors

    async def put_cursor(self, stream_id: Any, cursor: Cursor) -> None:
        others = [each for each in await self.cursors(stream_id) if each.reader != cursor.reader]
        self._replace(stream_id, cursors=tuple(sorted((*others, cursor))))

    async def drop_cursor(self, stream_id: Any, reader: str) -> None:
        cursors = await self.cursors(stream_id)
        self._replace(stream_id, cursors=tuple(each for each in cursors if each.reader != reader))

    async def gaps(self, stream_id: Any) -> tuple[Gap, ...]:
        return self._tables.streams[stream_id].gaps

    async def replace_gaps(self, stream_id: Any, gaps: Sequence[Gap]) -> None:
        self._replace(stream_id, gaps=tuple(gaps))

    async def usage(self, owner: str) -> StreamUsage:
        return self._tables.usage(owner)

    async def last_older(self, locked: LockedStream, before: datetime, limit: int) -> int:
        number = locked.stream.first - 1
        for message in islice(self._tables.of_stream(locked.stream), limit):
            if message.message.at >= before:
                break
            number = message.number
        return number

    async def drop_messages(self, stream_id: Any, until: int) -> int:
        stream = self._tables.streams[stream_id].stream
        removed = [each for each in self._tables.of_stream(stream) if each.number <= until]
        for message in removed:
            self._tables.messages.write((*stream_id, message.number), None)
            self._tables.numbers.write((*stream_id, *message.message.identity), None)
        return sum(message.message.size for message in removed)

    async def instant_of(self, stream_id: Any, number: int) -> datetime | None:
        message = self._tables.messages.get((*stream_id, number))
        return None if message is None else message.message.at

    async def delete(self, stream_id: Any) -> None:
        await self.drop_messages(stream_id, self._tables.streams[stream_id].stream.last)
        self._tables.streams.write(stream_id, None)

    async def write_event(self, event: Event) -> None:
        self._data.events.append(event)


class MemoryMessages(MessageStore):
    _data: Data

    async def _write_streams(
        self,
        work: Callable[[MessageAccess], Awaitable[_T]],
        attached_records: Sequence[RecordWrite] = (),
        *,
        urgent: bool = True,
    ) -> _T:
        del urgent
        with self._data.transaction():
            result = run_to_end(work(MemoryMessageAccess(self._data)))
            if attached_records and result:
                self._data.attach_records(attached_records)
            return result

    async def _read_streams(self, work: Callable[[MessageAccess], Awaitable[_T]], *, is_page: bool = False) -> _T:
        del is_page
        with self._data.lock:
            return run_to_end(work(MemoryMessageAccess(self._data)))

    async def streams(self, owner: str | None, after: str | None = None, limit: int = 100) -> Page[Stream]:
        size = min(limit, MAX_PAGE_SIZE)
        with self._data.lock:
            keys = [
                key
                for key in sorted(self._data.messages.streams.all_keys())
                if owner in (None, key[0]) and key > decode_position(after, ("", ""))
            ]
            items = tuple(self._data.messages.streams[key].stream for key in keys[:size])
        return Page(items, encode_position(*keys[size - 1]) if len(keys) > size else None)

    async def stream_usage(self, owner: str) -> StreamUsage:
        with self._data.lock:
            return self._data.messages.usage(owner)

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        with self._data.transaction():
            run = self._data.runs.get(run_id)
            if run is None or not run.live or run.token != token:
                return False
            self._data.apply(run.task_id, progress_change(writes, run_id))
        return True

    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        with self._data.lock:
            keys = sorted(self._data.messages.streams.all_keys())
        removed = 0
        for owner, name in keys:
            if removed < limit:
                removed += await self._trim_stream(owner, name, rules, limit - removed, now)
        return MessageTrim(removed, more=removed >= limit)
