"""Message streams in a transaction on Redis: the reads and writes of the algorithms that all stores share.

The document of a stream guards its messages: every write of them also writes the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from ....model.events.event import Event
from ....model.messages import Cursor, Gap, Message, Stream, StreamState, StreamUsage
from ...messages import LockedStream
from ..layout.documents import (
    decode_message_text,
    decode_stream_document,
    encode_event_text,
    encode_message_text,
    encode_stream_document,
)
from ..layout.indexes import NOTHING, members_of_stream, update_indexes
from ..layout.keys import identity_field
from .transaction import Transaction

StreamId: TypeAlias = tuple[str, str]
"""Owner and name."""
_BATCH: Final = 1_000


class RedisMessageAccess:
    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._states: dict[StreamId, StreamState | None] = {}
        self._inserted: dict[StreamId, dict[int, Message]] = {}
        """Messages of this transaction."""
        self.has_read_messages = False
        """Whether more than documents was read: their versions must be compared then."""

    async def find(self, owner: str, name: str) -> LockedStream | None:
        state = await self._state((owner, name))
        return None if state is None else LockedStream((owner, name), state.stream)

    async def _state(self, stream_id: StreamId) -> StreamState | None:
        if stream_id not in self._states:
            text = await self._transaction.read_one(self._transaction.keys.stream(*stream_id))
            self._states[stream_id] = None if text is None else decode_stream_document(text)
        return self._states[stream_id]

    def _known(self, stream_id: StreamId) -> StreamState:
        state = self._states[stream_id]
        if state is None:
            raise LookupError(stream_id)
        return state

    def _put(self, stream_id: StreamId, after: StreamState | None) -> None:
        keys, before = self._transaction.keys, self._states.get(stream_id)
        self._states[stream_id] = after
        self._transaction.put(keys.stream(*stream_id), None if after is None else encode_stream_document(after))
        update_indexes(
            self._transaction,
            NOTHING if before is None else members_of_stream(keys, before.stream),
            NOTHING if after is None else members_of_stream(keys, after.stream),
        )

    async def messages(self, found: LockedStream, after: int, limit: int) -> Sequence[Message]:
        first = max(after + 1, found.stream.first)
        return await self._read(found.id, first, min(first + limit - 1, found.stream.last))

    async def _read(self, stream_id: StreamId, first: int, last: int) -> list[Message]:
        """Return the messages with these numbers."""
        mine = self._inserted.get(stream_id, {})
        numbers = [number for number in range(first, last + 1) if number not in mine]
        found = dict(mine)
        for start in range(0, len(numbers), _BATCH):
            batch = numbers[start : start + _BATCH]
            self.has_read_messages = True
            key = self._transaction.keys.messages(*stream_id)
            texts = await self._transaction.client.call("HMGET", key, *batch)
            for number, text in zip(batch, texts, strict=True):
                if text is not None:
                    found[number] = decode_message_text(*stream_id, number, text)
        return [found[number] for number in range(first, last + 1) if number in found]

    async def lock(self, owner: str, name: str) -> LockedStream | None:
        return await self.find(owner, name)

    async def create(self, stream: Stream) -> LockedStream:
        stream_id = stream.owner, stream.name
        self._put(stream_id, StreamState(stream))
        return LockedStream(stream_id, stream)

    async def update(self, locked: LockedStream) -> None:
        self._put(locked.id, self._known(locked.id)._replace(stream=locked.stream))

    async def known_numbers(self, stream_id: Any, identities: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        if not identities:
            return {}
        self.has_read_messages = True
        key = self._transaction.keys.message_numbers(*stream_id)
        found = await self._transaction.client.call("HMGET", key, *(identity_field(*each) for each in identities))
        known = {each: int(number) for each, number in zip(identities, found, strict=True) if number is not None}
        mine = {each.message.identity: number for number, each in self._inserted.get(stream_id, {}).items()}
        return known | {each: mine[each] for each in identities if each in mine}

    async def append(self, locked: LockedStream, messages: Sequence[Message]) -> None:
        keys, stream_id = self._transaction.keys, locked.id
        texts = [word for each in messages for word in (each.number, encode_message_text(each.message))]
        numbers = [word for each in messages for word in (identity_field(*each.message.identity), each.number)]
        self._transaction.call_with("HSET", keys.messages(*stream_id), texts)
        self._transaction.call_with("HSET", keys.message_numbers(*stream_id), numbers)
        self._inserted.setdefault(stream_id, {}).update((each.number, each) for each in messages)
        await self.update(locked)

    async def cursors(self, stream_id: Any) -> tuple[Cursor, ...]:
        return self._known(stream_id).cursors

    async def put_cursor(self, stream_id: Any, cursor: Cursor) -> None:
        state = self._known(stream_id)
        others = [each for each in state.cursors if each.reader != cursor.reader]
        self._put(stream_id, state._replace(cursors=tuple(sorted((*others, cursor)))))

    async def drop_cursor(self, stream_id: Any, reader: str) -> None:
        state = self._known(stream_id)
        self._put(stream_id, state._replace(cursors=tuple(each for each in state.cursors if each.reader != reader)))

    async def gaps(self, stream_id: Any) -> tuple[Gap, ...]:
        return self._known(stream_id).gaps

    async def replace_gaps(self, stream_id: Any, gaps: Sequence[Gap]) -> None:
        self._put(stream_id, self._known(stream_id)._replace(gaps=tuple(gaps)))

    async def usage(self, owner: str) -> StreamUsage:
        stored = await self._transaction.client.call("HGETALL", self._transaction.keys.stream_bytes(owner))
        sizes = {name: int(size) for name, size in stored.items()}
        for (stream_owner, name), state in self._states.items():
            if stream_owner == owner:
                sizes.pop(name, None)
                sizes |= {} if state is None else {name: state.stream.bytes}
        return StreamUsage(len(sizes), sum(sizes.values()))

    async def last_older(self, locked: LockedStream, before: datetime, limit: int) -> int:
        stream = locked.stream
        end = min(stream.first + limit - 1, stream.last)
        number = stream.first - 1
        while number < end:
            for message in await self._read(locked.id, number + 1, min(number + _BATCH, end)):
                if message.message.at >= before:
                    return number
                number = message.number
        return number

    async def drop_messages(self, stream_id: Any, until: int) -> int:
        keys, first = self._transaction.keys, self._known(stream_id).stream.first
        removed = await self._read(stream_id, first, until)
        numbers = [each.number for each in removed]
        self._transaction.call_with("HDEL", keys.messages(*stream_id), numbers)
        identities = [identity_field(*each.message.identity) for each in removed]
        self._transaction.call_with("HDEL", keys.message_numbers(*stream_id), identities)
        for number in numbers:
            self._inserted.get(stream_id, {}).pop(number, None)
        return sum(each.message.size for each in removed)

    async def instant_of(self, stream_id: Any, number: int) -> datetime | None:
        return next((each.message.at for each in await self._read(stream_id, number, number)), None)

    async def delete(self, stream_id: Any) -> None:
        keys = self._transaction.keys
        self._put(stream_id, None)
        self._transaction.call("DEL", keys.messages(*stream_id), keys.message_numbers(*stream_id))
        self._inserted.pop(stream_id, None)

    async def write_event(self, event: Event) -> None:
        self._transaction.add_event(event.owner, encode_event_text(event))
