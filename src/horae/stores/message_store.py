"""Messages port of every store, except what its own statements answer: each operation is one transaction on streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from ..lifecycle.messages import make_page, position_of
from ..model.messages import (
    DEFAULT_QUOTA,
    PAGE_MESSAGES,
    Cursor,
    KeepRules,
    MessagePage,
    NewMessage,
    Stream,
    StreamQuota,
    StreamState,
)
from ..model.record import RecordWrite
from .messages import (
    MessageAccess,
    StreamWrites,
    delete_some,
    drop_reader,
    put_reader,
    put_stream,
    read_state,
    trim_stream,
    write_streams,
)

_T = TypeVar("_T")


class MessageStore(ABC):
    @abstractmethod
    async def _write_streams(
        self,
        work: Callable[[MessageAccess], Awaitable[_T]],
        attached_records: Sequence[RecordWrite] = (),
        *,
        urgent: bool = True,
    ) -> _T:
        """Run work in a transaction; the attached records are written only if it returns something."""

    @abstractmethod
    async def _read_streams(self, work: Callable[[MessageAccess], Awaitable[_T]], *, is_page: bool = False) -> _T:
        """Run work that only reads, on one state of the store; `is_page`: it reads a page of rows, not a few."""

    async def append_messages(
        self,
        owner: str,
        messages: Sequence[NewMessage],
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> tuple[int, ...]:
        writing = StreamWrites(owner, tuple(messages), quota=quota)
        written = await self._write_streams(lambda access: write_streams(access, [writing]), attached_records)
        (numbers,) = written.numbers
        return numbers

    async def read_messages(
        self, owner: str, stream: str, after: int = 0, limit: int = 50, reader: str | None = None
    ) -> MessagePage | None:
        size = min(limit, PAGE_MESSAGES)

        async def read(access: MessageAccess) -> MessagePage | None:
            found = await access.find(owner, stream)
            if found is None:
                return None
            # Cursors are needed for a reader alone, and only a stream whose oldest messages were removed can have gaps.
            cursors = () if reader is None else await access.cursors(found.id)
            gaps = await access.gaps(found.id) if found.stream.first > 1 else ()
            state = StreamState(found.stream, cursors, gaps)
            position = after if reader is None else position_of(state, reader)
            if position is None:
                return None
            return make_page(state, position, await access.messages(found, position, size), size)

        return await self._read_streams(read, is_page=True)

    async def stream(self, owner: str, name: str) -> StreamState | None:
        async def read(access: MessageAccess) -> StreamState | None:
            found = await access.find(owner, name)
            return None if found is None else await read_state(access, found)

        return await self._read_streams(read)

    async def put_stream(
        self,
        stream: Stream,
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> Stream:
        return await self._write_streams(lambda access: put_stream(access, stream, quota), attached_records)

    async def delete_stream(self, owner: str, name: str, attached_records: Sequence[RecordWrite] = ()) -> bool:
        state = await self.stream(owner, name)
        if state is None:
            return False
        created = state.stream.created
        while True:
            is_gone = await self._write_streams(
                lambda access: delete_some(access, owner, name, created), attached_records
            )
            if is_gone is not False:
                return True

    async def register_reader(  # noqa: PLR0913 - the parts of a cursor, its audit row and its limit
        self,
        owner: str,
        stream: str,
        reader: str,
        after: int | None,
        now: datetime,
        attached_records: Sequence[RecordWrite] = (),
        *,
        quota: StreamQuota = DEFAULT_QUOTA,
    ) -> Cursor | None:
        return await self._write_streams(
            lambda access: put_reader(access, (owner, stream), reader, after, now, quota), attached_records
        )

    async def remove_reader(
        self, owner: str, stream: str, reader: str, attached_records: Sequence[RecordWrite] = ()
    ) -> bool:
        return await self._write_streams(lambda access: drop_reader(access, owner, stream, reader), attached_records)

    async def _trim_stream(self, owner: str, name: str, rules: KeepRules, limit: int, now: datetime) -> int:
        return await self._write_streams(
            lambda access: trim_stream(access, owner, name, rules, limit, now), urgent=False
        )
