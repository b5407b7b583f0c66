"""Message streams in a transaction: appends, moves of cursors, retention and deletion, the same in every store.

`MessageAccess` is the transaction. In memory and in SQLite its coroutines never suspend. Streams are locked by owner and
name, in this order, and each is locked until the transaction ends: so numbers rise in the order of commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from ..lifecycle.messages import (
    Ages,
    advance,
    append_messages,
    appended_event,
    check_usage,
    needs_usage,
    register_reader,
    remove_old,
)
from ..model.accounts.system_owner import account_of
from ..model.change import Change
from ..model.events.event import Event
from ..model.handled import Handled, handled_writes
from ..model.message_refusals import refuse
from ..model.messages import (
    DEFAULT_QUOTA,
    Cursor,
    CursorMove,
    Gap,
    KeepRules,
    Message,
    NewMessage,
    Stream,
    StreamQuota,
    StreamState,
    StreamUsage,
)
from ..model.record import RecordWrite
from ..model.task import Task

DELETE_BATCH = 1_000
"""Messages that one transaction deletes with their stream."""


class LockedStream(NamedTuple):
    """A stream of this transaction; `id` is the store's own."""

    id: Any
    stream: Stream


class MessageAccess(Protocol):
    async def find(self, owner: str, name: str) -> LockedStream | None:
        """Return a stream without a lock, to read it; None if there is none."""

    async def messages(self, found: LockedStream, after: int, limit: int) -> Sequence[Message]:
        """Return up to `limit` messages after a number, in their order."""

    async def lock(self, owner: str, name: str) -> LockedStream | None:
        """Lock a stream until the transaction ends; None if there is none."""

    async def create(self, stream: Stream) -> LockedStream:
        """Create a stream, or lock the one that another transaction has created meanwhile."""

    async def update(self, locked: LockedStream) -> None:
        """Write the numbers, the size and the caps of a stream."""

    async def known_numbers(self, stream_id: Any, identities: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the numbers of messages with these sources and ids that the stream has."""

    async def append(self, locked: LockedStream, messages: Sequence[Message]) -> None:
        """Write new messages, and the numbers and the size that their stream has with them."""

    async def cursors(self, stream_id: Any) -> tuple[Cursor, ...]:
        """Return the cursors of a stream by reader."""

    async def put_cursor(self, stream_id: Any, cursor: Cursor) -> None: ...

    async def drop_cursor(self, stream_id: Any, reader: str) -> None: ...

    async def gaps(self, stream_id: Any) -> tuple[Gap, ...]: ...

    async def replace_gaps(self, stream_id: Any, gaps: Sequence[Gap]) -> None: ...

    async def usage(self, owner: str) -> StreamUsage: ...

    async def last_older(self, locked: LockedStream, before: datetime, limit: int) -> int:
        """Return the last of the oldest messages, up to `limit` of them, that are all from before an instant."""

    async def drop_messages(self, stream_id: Any, until: int) -> int:
        """Remove the messages up to a number, and return their bytes."""

    async def instant_of(self, stream_id: Any, number: int) -> datetime | None: ...

    async def delete(self, stream_id: Any) -> None:
        """Delete a stream with its messages, cursors and gaps."""

    async def write_event(self, event: Event) -> None: ...


async def read_state(access: MessageAccess, found: LockedStream) -> StreamState:
    return StreamState(found.stream, await access.cursors(found.id), await access.gaps(found.id))


class StreamWrites(NamedTuple):
    """Messages and cursor moves of one owner; a run's have its task."""

    owner: str
    messages: Sequence[NewMessage] = ()
    moves: Sequence[CursorMove] = ()
    task_id: str = ""
    run_id: str | None = None
    quota: StreamQuota = DEFAULT_QUOTA


def stream_writes_of(task: Task, change: Change) -> StreamWrites:
    """Return the messages and moves of a change; a settlement has its run."""
    run = change.updated_runs[0] if change.updated_runs else None
    run_id = None if run is None else run.id
    return StreamWrites(account_of(task.owner), change.messages, change.moves, task.id, run_id, change.stream_quota)


class WrittenStreams(NamedTuple):
    """`numbers` are those of the messages of each writing. `records` say which run moved a cursor: the transaction writes them."""

    numbers: list[tuple[int, ...]]
    records: list[RecordWrite]


async def write_streams(access: MessageAccess, writings: Sequence[StreamWrites]) -> WrittenStreams:
    """Append messages and move cursors."""
    created = {
        (writing.owner, message.stream): message.at for writing in reversed(writings) for message in writing.messages
    }
    moved = {(writing.owner, move.stream) for writing in writings for move in writing.moves}
    streams: dict[tuple[str, str], LockedStream] = {}
    for key in sorted({*created, *moved}):
        locked = await access.lock(*key)
        if locked is None and key in created:
            locked = await access.create(Stream(*key, created[key]))
        if locked is None:
            raise refuse("no_such_stream", name=key[1])
        streams[key] = locked
    written = WrittenStreams([], [])
    for writing in writings:
        for move in writing.moves:
            handled = await _move_cursor(access, streams[writing.owner, move.stream], move)
            run_id = move.run_id or writing.run_id
            if handled is not None and run_id is not None:
                written.records.extend(handled_writes(writing.owner, run_id, handled, move.at))
        written.numbers.append(await _append(access, streams, writing))
    return written


async def _append(
    access: MessageAccess, streams: dict[tuple[str, str], LockedStream], writing: StreamWrites
) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    is_compared = False
    for name in sorted({message.stream for message in writing.messages}):
        places = [place for place, message in enumerate(writing.messages) if message.stream == name]
        messages = [writing.messages[place] for place in places]
        stream_id, stream = streams[writing.owner, name]
        known = await access.known_numbers(stream_id, [message.identity for message in messages])
        append = append_messages(stream, messages, known, writing.quota)
        numbers.update(zip(places, append.numbers, strict=True))
        event = appended_event(append, writing.task_id, writing.run_id)
        if event is not None:
            is_compared = is_compared or needs_usage(stream, append.stream, writing.quota)
            locked = streams[writing.owner, name] = LockedStream(stream_id, append.stream)
            await access.append(locked, append.added)
            await access.write_event(event)
    if is_compared:
        check_usage(writing.owner, await access.usage(writing.owner), writing.quota)
    return tuple(numbers[place] for place in range(len(writing.messages)))


async def _move_cursor(access: MessageAccess, locked: LockedStream, move: CursorMove) -> Handled | None:
    """Move a cursor; return the messages that it moved over, None if it stays."""
    stream_id, stream = locked
    cursor = next((each for each in await access.cursors(stream_id) if each.reader == move.reader), None)
    if cursor is None:
        raise refuse("no_such_reader", stream=move.stream, reader=move.reader)
    number = advance(stream, cursor.number, move.acknowledged)
    if number <= cursor.number:
        return None
    await access.put_cursor(stream_id, Cursor(move.reader, number, move.at))
    return Handled(move.stream, move.reader, cursor.number + 1, number)


async def put_stream(access: MessageAccess, stream: Stream, quota: StreamQuota) -> Stream:
    """Create the stream, or give the existing one the same caps."""
    locked = await access.lock(stream.owner, stream.name)
    if locked is None:
        locked = await access.create(stream)
        check_usage(stream.owner, await access.usage(stream.owner), quota)
    after = locked._replace(stream=locked.stream._replace(keep=stream.keep, keep_for=stream.keep_for))
    await access.update(after)
    return after.stream


async def put_reader(
    access: MessageAccess, key: tuple[str, str], reader: str, after: int | None, now: datetime, quota: StreamQuota
) -> Cursor | None:
    locked = await access.lock(*key)
    if locked is None:
        return None
    cursors = await access.cursors(locked.id)
    cursor = register_reader(StreamState(locked.stream, cursors), reader, after, now, quota)
    if cursor not in cursors:
        await access.put_cursor(locked.id, cursor)
    return cursor


async def drop_reader(access: MessageAccess, owner: str, name: str, reader: str) -> bool:
    locked = await access.lock(owner, name)
    if locked is None or all(each.reader != reader for each in await access.cursors(locked.id)):
        return False
    await access.drop_cursor(locked.id, reader)
    return True


async def trim_stream(access: MessageAccess, owner: str, name: str, rules: KeepRules, limit: int, now: datetime) -> int:
    """Remove what retention allows, up to `limit` messages of one stream; return how many."""
    locked = await access.lock(owner, name)
    if locked is None:
        return 0
    stream_id, stream = locked
    keep_for: timedelta = rules.keep_for if stream.keep_for is None else stream.keep_for
    ages = Ages(
        await access.last_older(locked, now - rules.keep_read_for, limit),
        await access.last_older(locked, now - keep_for, limit),
    )
    state = await read_state(access, locked)
    keep = rules.keep if stream.keep is None else stream.keep
    removal = remove_old(state, ages, keep, limit, now)
    if removal.gaps != state.gaps:
        await access.replace_gaps(stream_id, removal.gaps)
    return await _remove(access, locked, removal.until)


async def _remove(access: MessageAccess, locked: LockedStream, until: int) -> int:
    stream_id, stream = locked
    if until < stream.first:
        return 0
    size = await access.drop_messages(stream_id, until)
    oldest = await access.instant_of(stream_id, until + 1)
    after = stream._replace(first=until + 1, bytes=stream.bytes - size, oldest=oldest)
    await access.update(LockedStream(stream_id, after))
    return until - stream.first + 1


async def delete_some(access: MessageAccess, owner: str, name: str, now: datetime) -> bool | None:
    """Delete a stream, or its oldest messages where it has many; return whether it is gone, None if there was none.

    An interrupted deletion leaves a gap, so that readers see what is missing.
    """
    locked = await access.lock(owner, name)
    if locked is None:
        return None
    stream_id, stream = locked
    if stream.stored <= DELETE_BATCH:
        await access.delete(stream_id)
        return True
    until = stream.first + DELETE_BATCH - 1
    await access.replace_gaps(stream_id, (Gap(1, until, now),))
    await _remove(access, locked, until)
    return False
