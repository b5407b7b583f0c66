"""Decisions about message streams: numbers of an append, moves of cursors, retention and pages; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..model.change import Change
from ..model.events.event import Event, EventKind
from ..model.message_refusals import refuse
from ..model.messages import (
    DEFAULT_QUOTA,
    PAGE_BYTES,
    Cursor,
    Gap,
    Message,
    MessagePage,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamState,
    StreamUsage,
    check_text_bytes,
)
from ..model.outcome import Outcome, Skipped, Succeeded, Waiting

MAX_READERS: Final = 1_000
"""Most readers of a stream, whatever the quota: each read looks at the cursors of its stream."""


_STEPS: Final = 16
_STREAMS: Final = 1_000
"""Streams of an owner, for the steps of a quota that does not limit them."""


class Append(NamedTuple):
    """`numbers` of the given messages in their order; `added` are those that are new; `stream` is the stream after it."""

    stream: Stream
    numbers: tuple[int, ...]
    added: tuple[Message, ...] = ()


def append_messages(
    stream: Stream,
    messages: Sequence[NewMessage],
    known: Mapping[tuple[str, str], int],
    quota: StreamQuota = DEFAULT_QUOTA,
) -> Append:
    """Number the messages in their order; one whose identity the stream has already gets the number of the first.

    Refuses new messages beyond the size of a message, or beyond the messages of a stream.
    """
    numbers: list[int] = []
    added: list[Message] = []
    numbered = dict(known)
    for message in messages:
        number = numbered.get(message.identity)
        if number is None:
            if quota.text_bytes is not None:
                check_text_bytes(len(message.text.encode(errors="replace")), quota.text_bytes)
            number = numbered[message.identity] = stream.last + len(added) + 1
            added.append(Message(stream.owner, number, message))
        numbers.append(number)
    if not added:
        return Append(stream, tuple(numbers))
    stored = stream.stored + len(added)
    if quota.messages is not None and stored > quota.messages:
        raise refuse("stream_full", owner=stream.owner, stream=stream.name, most=quota.messages, more=stored)
    after = stream._replace(
        last=stream.last + len(added),
        bytes=stream.bytes + sum(each.message.size for each in added),
        oldest=stream.oldest if stream.stored else added[0].message.at,
    )
    return Append(after, tuple(numbers), tuple(added))


def needs_usage(before: Stream, after: Stream, quota: StreamQuota) -> bool:
    """Return whether an append must be compared with the usage of all streams of its owner, which are summed for that.

    The first message of a stream is. Later ones are when the stream has grown by a step: the steps of all streams together
    are a sixteenth of the quota, so that much more may be stored.
    """
    if before.last == 0:
        return quota.streams is not None or quota.bytes is not None
    if quota.bytes is None:
        return False
    step = max(1, quota.bytes // (_STEPS * max(1, quota.streams or _STREAMS)))
    return before.bytes // step != after.bytes // step


def check_usage(owner: str, usage: StreamUsage, quota: StreamQuota) -> None:
    """Refuse an append after which the owner would have more streams or bytes than its quota; `usage` is that after it."""
    if quota.streams is not None and usage.streams > quota.streams:
        raise refuse("too_many_message_streams", owner=owner, most=quota.streams, more=usage.streams)
    if quota.bytes is not None and usage.bytes > quota.bytes:
        raise refuse("messages_full", owner=owner, most=quota.bytes, more=usage.bytes)


def appended_event(append: Append, task_id: str = "", run_id: str | None = None) -> Event | None:
    """Return the event for the readers of a stream, without the text; None where nothing was added."""
    if not append.added:
        return None
    first, last = append.added[0], append.added[-1]
    detail = json.dumps(
        {"stream": append.stream.name, "first": first.number, "last": last.number},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return Event(EventKind.MESSAGE_APPENDED, last.message.at, append.stream.owner, task_id, run_id, detail)


def advance(stream: Stream, number: int, acknowledged: Iterable[tuple[int, int]]) -> int:
    """Return where a cursor at `number` moves: over acknowledged numbers without a hole, never back, never beyond the end.

    Numbers that retention has removed count as acknowledged: no reader can handle them any more.
    """
    position = max(number, stream.first - 1)
    for first, last in sorted(acknowledged):
        if first > position + 1:
            break
        position = max(position, min(last, stream.last))
    return max(number, position)


def position_of(state: StreamState, reader: str) -> int | None:
    """Return the number that a reader's cursor is at; None for an unknown reader."""
    return next((cursor.number for cursor in state.cursors if cursor.reader == reader), None)


def register_reader(
    state: StreamState, reader: str, after: int | None, now: datetime, quota: StreamQuota = DEFAULT_QUOTA
) -> Cursor:
    """Return the cursor of a reader: the one that it has, or a new one after the given number, at the end where None."""
    for cursor in state.cursors:
        if cursor.reader == reader:
            return cursor
    most = MAX_READERS if quota.readers is None else min(quota.readers, MAX_READERS)
    if len(state.cursors) >= most:
        more = min(most + 1, MAX_READERS)
        raise refuse("too_many_readers", owner=state.stream.owner, stream=state.stream.name, most=most, more=more)
    number = state.stream.last if after is None else max(0, min(after, state.stream.last))
    return Cursor(reader, number, now)


class Removal(NamedTuple):
    """Numbers `stream.first` to `until` go; `gaps` are all gaps of the stream after it."""

    until: int
    gaps: tuple[Gap, ...]


class Ages(NamedTuple):
    """The last of the oldest messages that are beyond an age: of read ones, and of any."""

    read: int
    any: int


def remove_old(state: StreamState, ages: Ages, keep: int, limit: int, now: datetime) -> Removal:
    """Decide what retention removes from a stream: what every reader has passed, and what is beyond a cap.

    A stream without readers keeps everything up to its caps. What goes unread leaves a gap; a gap that every reader has
    passed goes too.
    """
    stream, cursors, gaps = state
    passed = min((cursor.number for cursor in cursors), default=stream.first - 1)
    capped = max(stream.last - keep, ages.any)
    until = min(max(min(passed, ages.read), capped), stream.first + limit - 1, stream.last)
    kept = [gap for gap in gaps if not cursors or gap.last > passed]
    unread = max(stream.first, passed + 1)
    if until >= unread:
        before = kept[-1] if kept and kept[-1].last == unread - 1 else None
        if before is not None:
            kept.pop()
        kept.append(Gap(unread if before is None else before.first, until, now))
    return Removal(until, tuple(kept))


def make_page(
    state: StreamState, after: int, messages: Sequence[Message], limit: int, most_bytes: int = PAGE_BYTES
) -> MessagePage:
    """Return the page of messages after a number, cut at the limit and at the bytes of a page, with the gaps behind it."""
    stream = state.stream
    size = 0
    shown: list[Message] = []
    for message in messages[:limit]:
        size += message.message.size
        if shown and size > most_bytes:
            break
        shown.append(message)
    reached = shown[-1].number if shown else max(after, stream.first - 1)
    gaps = tuple(
        gap._replace(first=max(gap.first, after + 1)) for gap in state.gaps if gap.last > after and gap.first <= reached
    )
    return MessagePage(stream, after, tuple(shown), gaps, reached if reached < stream.last else None)


def with_writes(change: Change, outcome: Outcome, writes: RunWrites | None) -> Change:
    """Attach the writes of a run to its settlement. A run that failed, timed out or was cancelled has handled nothing."""
    if writes is None or not isinstance(outcome, Succeeded | Skipped | Waiting):
        return change
    return change._replace(
        attached=(*change.attached, *writes.records),
        messages=(*change.messages, *writes.messages),
        moves=(*change.moves, *writes.moves),
        stream_quota=writes.quota,
    )


def progress_change(writes: RunWrites, run_id: str) -> Change:
    """Return the change of a progress write: the run goes on."""
    moves = tuple(move._replace(run_id=run_id) for move in writes.moves)
    return Change(attached=writes.records, messages=writes.messages, moves=moves, stream_quota=writes.quota)
